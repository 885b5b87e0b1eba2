import { expect } from 'chai'
import { isTooWide } from '../../support/browser.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { DESK_FILES, REFUND, RETURNS } from '../../support/desk-example.ts'
import { eventually } from '../../support/eventually.ts'

describe('agents that call agents, in the debug UI', () => {
  const ui = DebugUi.forSuite({ record: 1 }, DESK_FILES)

  const askDesk = async (input: string): Promise<string> => {
    const payload = { model: 'desk', user: 'ada', input }
    const { id } = (await ui.server.app.inject({ method: 'POST', url: '/compat/responses', payload })).json()
    return id.replace('resp_', '')
  }

  it('names the called agent and its caller in the inbox, with tool, reason, user, question and times', async () => {
    await askDesk(REFUND)
    const page = await ui.open('#/approvals', { viewport: { width: 390, height: 800 } })
    const card = page.getByRole('list', { name: 'Approvals' }).getByRole('listitem')
    await card.getByRole('heading', { name: 'May billing (asked by desk) call refund?' }).waitFor()
    const terms = async () => Promise.all((await card.getByRole('term').all()).map((term) => term.innerText()))
    await eventually(async () =>
      expect(await terms()).deep.equal(['Asked by ada', 'billing said', 'The tool', 'number', 'euros']),
    )
    expect(await card.getByRole('definition').allInnerTexts()).deep.equal([
      REFUND,
      'The customer says about INV-7: it arrived broken.',
      'Pays money back for an invoice.',
      'INV-7',
      '40',
    ])
    await card.getByText(/· until /).waitFor()
    expect(await isTooWide(page)).equal(false)
  })

  it('links the run of a called agent and the call that began it, both ways', async () => {
    const desk = await askDesk(RETURNS)
    const page = await ui.open(`#/runs/${desk}`)
    await page.getByRole('treeitem').filter({ hasText: 'kb(Find returns)' }).click()
    const panel = page.getByRole('complementary', { name: 'Selected call' })
    await panel.getByRole('link', { name: 'its own run' }).waitFor()
    await page.getByRole('treeitem').getByRole('link', { name: 'its own run' }).click()
    await page.locator('.run-question').getByText('Find returns').waitFor()
    expect(page.url()).not.contain(desk)
    await page.getByRole('link', { name: 'called by desk' }).click()
    await panel.getByRole('heading', { name: 'kb(Find returns)' }).waitFor()
    expect(page.url()).contain(desk)
  })

  it('shows the card of a waiting agent on the pages of both runs, and in the playground', async () => {
    const desk = await askDesk(REFUND)
    const { data } = (await ui.server.app.inject('/compat/approvals')).json()
    const page = await ui.open(`#/runs/${data[0].run_id}`)
    const pending = page.getByRole('list', { name: /^Waits for/ })
    await pending.getByRole('heading', { name: 'May billing (asked by desk) call refund?' }).waitFor()
    const said = ['The customer says about INV-7: it arrived broken.', 'Pays money back for an invoice.']
    const terms = (expected: readonly string[]) =>
      eventually(async () => expect(await pending.getByRole('definition').allInnerTexts()).deep.equal(expected))
    await terms([REFUND, ...said, 'INV-7', '40'])
    // Where the question of the user stands above it, the card does not repeat it.
    await page.goto(`${ui.url}/#/runs/${desk}`)
    await terms([...said, 'INV-7', '40'])
    await page.goto(`${ui.url}/#/play/desk`)
    await page.getByRole('button', { name: REFUND }).click()
    await terms([...said, 'INV-7', '40'])
  })

  it('reruns a called agent from one of its calls', async () => {
    const desk = await askDesk(RETURNS)
    const page = await ui.open(`#/runs/${desk}`)
    await page.getByRole('treeitem').filter({ hasText: 'read_article(returns)' }).click()
    await page.getByRole('button', { name: 'Rerun from here' }).click()
    await page.getByRole('textbox', { name: 'Result' }).fill('Within a year.')
    await page.getByRole('button', { name: 'Rerun and compare' }).click()
    await see(page, 'Within a year.')
    expect(page.url()).contain('compare').and.not.contain(desk)
  })

  it('changes values of the agents that an agent calls, and answers with them', async () => {
    const page = await ui.open('#/play/desk')
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    const panel = page.getByRole('complementary', { name: 'Change' })
    await panel.getByRole('heading', { name: 'billing' }).waitFor()
    const prompt = panel.locator('.variable', { hasText: 'billing.orchestrator' }).getByLabel('system prompt')
    await prompt.fill('You look after invoices. Be quick.')
    await panel.getByText('edited', { exact: true }).waitFor()
    const difference = 'system_prompt: Say why before you refund. → Be quick.'
    const message = page.getByLabel(`Message to desk · billing.orchestrator.${difference}`)
    expect(await message.getAttribute('placeholder')).equal('Message to desk')
    await message.fill('Is there a receipt of INV-7?')
    await message.press('Enter')
    await page.getByRole('link', { name: 'View the run' }).click()
    await page.getByText(`variant: billing.orchestrator.${difference}`).waitFor()
    await page.getByRole('treeitem').getByRole('link', { name: 'its own run' }).click()
    await page.getByText(`variant: ${difference}`).waitFor()
    await page.getByText('Be quick.').first().waitFor()
  })

  it('keeps the time of a call in one line, however narrow the page is', async () => {
    const page = await ui.open('#/play/desk', { viewport: { width: 240, height: 800 } })
    await page.getByRole('button', { name: RETURNS }).click()
    await page.locator('.tool-call summary').getByText(/ms$/).waitFor()
    expect(await page.evaluate<number>(LINES_OF_TIME)).equal(1)
  })

  it('says on the cards who calls whom, and begins with the agent that people ask', async () => {
    const page = await ui.open('#/agents')
    const card = (id: string) => page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: id }) })
    await card('Front desk').getByText('calls billing, kb').waitFor()
    await card('billing').getByText('called by desk').waitFor()
    expect(await page.getByRole('combobox').inputValue()).equal('desk')
    await page.goto(`${ui.url}/#/play`)
    await page.getByLabel('Message to desk').waitFor()
  })
})

const LINES_OF_TIME = `(() => {
  const range = document.createRange()
  range.selectNodeContents(document.querySelector('.tool-call summary > span'))
  return range.getClientRects().length
})()`
