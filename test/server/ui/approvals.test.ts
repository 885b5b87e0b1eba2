import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import type { Page, Request } from 'playwright-core'
import { deferred } from '../../../src/async.ts'
import { findBarriers, isTooWide } from '../../support/browser.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'
import { SHOP_MODULES, shopAgent } from '../../support/shop.ts'

describe('the inbox of the debug UI', () => {
  const ui = DebugUi.forSuite()

  beforeEach(async () => {
    const calls =
      '{ name: pay, arguments: { amount: 40, to: Ann } }, { name: refund, arguments: { amount: 2, to: Bob } }'
    const shop = shopAgent('shop', calls)
    const clerk = shopAgent('clerk', '{ name: size, arguments: { amount: 0 } }')
    await ui.add({ ...SHOP_MODULES, 'agents/shop.yml': shop, 'agents/clerk.yml': clerk })
  })

  async function askAgent(model: string, more: object = {}): Promise<string> {
    const payload = { model, input: 'please', ...more }
    return (await ui.server.app.inject({ method: 'POST', url: '/compat/responses', payload })).json().id
  }

  const countOf = (page: Page) => page.locator('.nav-count').textContent()

  it('decides by keyboard: approves, edits, answers, and follows the run that continues', async () => {
    const waiting = (await askAgent('shop')).replace('resp_', '')
    const page = await ui.open('#/approvals')
    await see(page, 'May shop call pay?')
    expect(await countOf(page)).to.equal('2')
    expect(await findBarriers(page)).to.deep.equal([])
    // A slip of the hand decides nothing: the card is marked, and not chosen.
    await page.keyboard.press('a')
    await page.keyboard.press('r')
    expect(await page.getByRole('button', { name: 'Undo' }).count()).equal(0)
    expect(await page.getByLabel('Reason').count()).equal(0)
    await page.keyboard.press('j')
    await page.keyboard.press('a')
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    // Nor does it decide the next one.
    await page.keyboard.press('a')
    expect(await page.getByRole('button', { name: 'Undo' }).count()).equal(1)
    await see(page, 'Continues when every decision is made.')
    expect(await page.locator('[aria-current="true"]').innerText()).contain('May shop call refund?')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('e')
    await page.getByLabel('amount').waitFor()
    expect(await findBarriers(page)).to.deep.equal([])
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('lots')
    await page.keyboard.press('Enter')
    await see(page, 'amount must be number, written as JSON.')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('7')
    await page.keyboard.press('Enter')
    const next = page.getByRole('link', { name: 'View the run' })
    await next.waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await see(page, /Results: pay 40 Ann,[\s\S]*refund 7 Bob/)
    expect(page.url()).not.to.contain(waiting)
    await page.getByRole('link', { name: 'Continues a run that waited' }).click()
    await page.getByRole('link', { name: 'Continued by another run' }).waitFor()
    expect(page.url()).to.contain(waiting)
    await page.locator('.run-head').getByText('continued', { exact: true }).waitFor()
  })

  it('shows a run whose calls were superseded by a message as continued', async () => {
    const id = await askAgent('shop')
    const next = await askAgent('shop', { input: 'never mind', previous_response_id: id })
    const page = await ui.open(`#/runs/${id.replace('resp_', '')}`)
    await page.locator('.run-head').getByText('continued', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Continued by another run' }).click()
    await page.getByRole('link', { name: 'Continues a run that waited' }).waitFor()
    expect(page.url()).contain(next.replace('resp_', ''))
  })

  it('tells what led to a call: the question of the user, and the arguments', async () => {
    const shown = async (id: string, asker: string) => {
      const row = page.locator('li', { has: page.locator(`a[href="#/runs/${id.replace('resp_', '')}"]`) })
      const pay = row.filter({ hasText: 'May shop call pay?' })
      await pay.getByText(asker, { exact: true }).waitFor()
      expect(await pay.getByRole('definition').allInnerTexts()).deep.equal(['please', '40', 'Ann'])
    }
    const ids = [await askAgent('shop'), await askAgent('shop', { user: 'ann' })] as const
    const page = await ui.open('#/approvals')
    await shown(ids[0], 'Asked by the user')
    await shown(ids[1], 'Asked by ann')
    await page.goto(`${ui.url}/#/runs/${ids[1].replace('resp_', '')}`)
    await page.locator('.run-head').getByText('user ann').waitFor()
  })

  it('shows what is decided as it is written, and an edit keeps what is not changed', async () => {
    const call = String.raw`{ name: pay, arguments: { amount: 40, to: "Ann \u202eboB\u202c" } }`
    await ui.add({ 'agents/forger.yml': shopAgent('forger', call) })
    const id = await askAgent('forger', { input: 'pay \u202eboB\u202c' })
    const page = await ui.open('#/approvals')
    await see(page, 'pay \\u202eboB\\u202c')
    const shown = ['pay \\u202eboB\\u202c', '40', 'Ann \\u202eboB\\u202c']
    expect(await page.getByRole('definition').allInnerTexts()).deep.equal(shown)
    await page.goto(`${ui.url}/#/runs/${id.replace('resp_', '')}`)
    await page.locator('.run-question').getByText('pay \\u202eboB\\u202c').waitFor()
    await see(page, 'Ann \\u202eboB\\u202c')
    expect(await page.locator('body').innerText()).not.match(/\p{Bidi_Control}/u)
    await page.getByRole('button', { name: 'Edit' }).click()
    expect(await page.getByLabel('to').inputValue()).equal('Ann \\u202eboB\\u202c')
    await page.getByLabel('amount').fill('7')
    await page.getByRole('button', { name: 'Approve as edited' }).click()
    const url = `/compat/approvals/${id.replace('resp_', 'mcpr_')}-000`
    await eventually(async () => {
      const { edited_arguments: edited } = (await ui.server.app.inject(url)).json()
      expect(edited).deep.equal({ amount: 7, to: 'Ann \u202eboB\u202c' })
    })
  })

  it('an edit of a text with characters that nobody sees keeps them', async () => {
    const call = String.raw`{ name: pay, arguments: { amount: 40, to: "Ann\u200bBob 1\ufe0f\u20e3" } }`
    await ui.add({ 'agents/joiner.yml': shopAgent('joiner', call) })
    const id = await askAgent('joiner', { input: 'pay' })
    const page = await ui.open(`#/runs/${id.replace('resp_', '')}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    const to = page.getByLabel('to')
    expect(await to.inputValue()).equal('Ann\\u200bBob 1\ufe0f\u20e3')
    await to.fill('Ann\\u200bBob!')
    await page.getByRole('button', { name: 'Approve as edited' }).click()
    const url = `/compat/approvals/${id.replace('resp_', 'mcpr_')}-000`
    await eventually(async () => {
      const { edited_arguments: edited } = (await ui.server.app.inject(url)).json()
      expect(edited).deep.equal({ amount: 40, to: 'Ann\u200bBob!' })
    })
  })

  it('hears of decisions over the live stream, and polls nothing', async () => {
    const page = await ui.open('#/agents')
    await page.clock.install()
    await page.reload()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Approvals' }).waitFor()
    let asked = 0
    page.on('request', (request) => {
      if (request.url().includes('/approvals')) asked++
    })
    const waiting = await askAgent('clerk')
    await eventually(async () => expect(await countOf(page)).equal('1'))
    const id = waiting.replace('resp_', 'mcpr_')
    const payload = { decision: 'answer', answer: 7 }
    const decided = await ui.server.app.inject({ method: 'POST', url: `/compat/approvals/${id}-000`, payload })
    expect(decided.statusCode).equal(200)
    await eventually(async () => expect(await page.locator('.nav-count').count()).equal(0))
    // Every timer that the page has comes due: those of the last news, then none.
    await page.clock.runFor(60_000)
    const before = asked
    await page.clock.runFor(60_000)
    expect(asked).equal(before)
  })

  it('holds an approval for a moment: it can be undone, and leaving or reloading the page sends nothing', async () => {
    const id = (await askAgent('shop')).replace('resp_', 'mcpr_')
    const statusOf = async () => (await ui.server.app.inject(`/compat/approvals/${id}-000`)).json().status
    const page = await ui.open('#/approvals')
    const card = page.getByRole('listitem').filter({ hasText: 'May shop call pay?' })
    await card.getByRole('button', { name: 'Approve' }).click()
    await card.getByRole('button', { name: 'Undo' }).click()
    await card.getByRole('button', { name: 'Reject' }).waitFor()
    await card.getByRole('button', { name: 'Approve' }).click()
    await card.getByRole('button', { name: 'Undo' }).waitFor()
    await page.goto(`${ui.url}/#/agents`)
    await page.getByRole('link', { name: 'Approvals' }).click()
    await card.getByText('The approval was not sent: the page was left too soon. The call still waits.').waitFor()
    await card.getByRole('button', { name: 'Approve' }).click()
    await card.getByRole('button', { name: 'Undo' }).waitFor()
    await page.reload()
    await card.getByText('The approval was not sent').waitFor()
    expect(await statusOf()).equal('pending')
    await card.getByRole('button', { name: 'Approve' }).click()
    await eventually(async () => expect(await statusOf()).equal('approved'))
  })

  it('decides several at once', async () => {
    await askAgent('shop')
    const page = await ui.open('#/approvals')
    await see(page, 'May shop call refund?')
    await page.keyboard.press('x')
    await page.getByRole('checkbox', { name: 'Choose: May shop call refund?' }).check()
    await page.getByRole('button', { name: 'Approve 2' }).click()
    await page.getByRole('link', { name: 'View the run' }).first().click()
    await see(page, /Results: pay 40 Ann,[\s\S]*refund 2 Bob/)
  })

  it('rejects with a reason, answers questions, and shows decisions of another page', async () => {
    await askAgent('clerk')
    await askAgent('shop')
    const page = await ui.open('#/approvals', { viewport: { width: 390, height: 800 }, colorScheme: 'dark' })
    await see(page, 'Which size?')
    expect(await isTooWide(page)).to.equal(false)
    expect(await findBarriers(page)).to.deep.equal([])
    const other = await ui.open('#/approvals')
    await page.keyboard.press('a')
    await page.keyboard.type('42')
    await page.keyboard.press('Enter')
    await see(page, 'answered')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('r')
    await page.getByLabel('Reason').waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByLabel('Reason').count()).to.equal(0)
    await page.keyboard.press('ArrowDown')
    // What is typed right after the key goes into the field.
    expect(await page.evaluate<string>(PRESS_R)).equal('INPUT')
    await page.keyboard.type('too much')
    await page.keyboard.press('Enter')
    await see(page, 'rejected')
    await other.getByText('1 decision to make').waitFor()
    expect(await countOf(other)).to.equal('1')
    expect(await findBarriers(page)).to.deep.equal([])
  })

  it('tells the slower of two tabs that somebody else decided', async () => {
    ui.expected.push(/409 \(Conflict\)/)
    await askAgent('clerk')
    const tabs = [await ui.open('#/approvals'), await ui.open('#/approvals')]
    for (const tab of tabs) await see(tab, 'Which size?')
    // Neither decision is sent before the other: the live stream would take the call away.
    const bothDecided = deferred()
    let decided = 0
    for (const tab of tabs) {
      await tab.route(
        ({ pathname }) => pathname.includes('approvals'),
        async (route) => {
          if (isDecision(route.request())) {
            if (++decided === tabs.length) bothDecided.resolve()
            await bothDecided.promise
          }
          await route.continue()
        },
      )
    }
    const answers = tabs.map((tab) => tab.waitForResponse((reply) => isDecision(reply.request())))
    for (const tab of tabs) {
      await tab.keyboard.press('a')
      await tab.keyboard.type('42')
    }
    await Promise.all(tabs.map((tab) => tab.keyboard.press('Enter')))
    const statuses = (await Promise.all(answers)).map((reply) => reply.status())
    expect(statuses.sort()).to.deep.equal([200, 409])
  })

  it('decides what it can show beside a question without an address that opens, and a row that fails', async () => {
    await askAgent('clerk')
    await askAgent('clerk')
    await askAgent('shop')
    const page = await ui.open('#/agents')
    await page.route(
      ({ pathname, search }) => pathname.endsWith('/approvals') && search.includes('order=asc'),
      async (route) => {
        const response = await route.fetch()
        const inbox = await response.json()
        Object.assign(inbox.data[0], { message: 'Sign in.', url: 'example.com/login' })
        Object.assign(inbox.data[1], { id: 'mcpr_odd', created_at: 1e20 })
        await route.fulfill({ response, json: inbox })
      },
    )
    await page.goto(`${ui.url}/#/approvals`)
    await page.reload()
    const rows = page.getByRole('list', { name: 'Approvals' }).getByRole('listitem')
    await rows.nth(3).waitFor()
    const question = rows.filter({ hasText: 'Sign in.' })
    await question.getByText('example.com/login', { exact: true }).waitFor()
    expect(await question.getByRole('link').allInnerTexts()).deep.equal(['Sign in.'])
    await rows.getByText('The question mcpr_odd cannot be shown.').waitFor()
    await rows.getByText('agent-host approvals answer mcpr_odd <answer>').waitFor()
    expect(await findBarriers(page)).deep.equal([])
    await rows.filter({ hasText: 'May shop call pay?' }).getByRole('button', { name: 'Reject' }).click()
    await page.getByLabel('Reason').press('Enter')
    await rows.getByText('rejected').waitFor()
    await question.getByRole('textbox', { name: 'answer' }).fill('42')
    await question.getByRole('button', { name: 'Answer' }).click()
    await rows.getByText('answered').waitFor()
  })

  it('stands in the head of the page of a waiting run, which then links to the one that continues', async () => {
    const waiting = (await askAgent('clerk')).replace('resp_', '')
    const page = await ui.open(`#/runs/${waiting}`)
    const pending = page.getByRole('list', { name: 'Waits for a person' })
    await pending.getByRole('heading', { name: 'Which size?' }).waitFor()
    // The call that waits is selected.
    await page.locator('.trace-row[data-selected="true"]').getByText('size(0)').waitFor()
    await pending.getByRole('textbox', { name: 'answer' }).fill('42')
    await pending.getByRole('button', { name: 'Answer' }).click()
    await page.getByRole('link', { name: 'Continued by another run' }).click()
    await see(page, 'Results: size 42')
  })

  it('counts and shows no errors for a waiting run', async () => {
    const id = (await askAgent('shop')).replace('resp_', '')
    const page = await ui.open('#/runs')
    // A run of the test before may end late, and be in the list.
    const row = page.getByRole('list', { name: 'Runs' }).getByRole('listitem').filter({ hasText: 'waiting' })
    await row.waitFor()
    expect(await row.locator('.bad-text').count()).equal(0)
    await row.getByRole('link').click()
    await see(page, 'pay(40, Ann)')
    expect(await page.locator('.bad-text').count()).equal(0)
    const numbers = 'query($id: String!) { run(run_id: $id) { status errors error } }'
    expect(await ask(ui.server, numbers, { id })).deep.equal({ run: { status: 'waiting', errors: 0, error: null } })
  })

  it('decides in the playground, where the answer continues', async () => {
    const page = await ui.open('#/play/shop')
    let decisions = 0
    await page.route('**/approvals/*', async (route) => {
      decisions++
      // Slow enough for a second click on the same button.
      await setTimeout(300)
      await route.continue()
    })
    const message = page.getByLabel('Message to shop')
    await message.fill('please')
    await message.press('Enter')
    for (let decision = 0; decision < 2; decision++) {
      await page.getByRole('button', { name: 'Approve' }).first().click()
    }
    await see(page, /Results: pay 40 Ann,[\s\S]*refund 2 Bob/)
    await page.reload()
    await see(page, /Results: pay 40 Ann,[\s\S]*refund 2 Bob/)
    expect(await page.getByRole('button', { name: 'Approve' }).count()).equal(0)
    expect(decisions).equal(2)
  })
})

/** Presses a key; gives the name of the element that has the focus before the browser comes to anything else. */
const PRESS_R = `(async () => {
  document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'r', bubbles: true }))
  await undefined
  return document.activeElement.tagName
})()`

function isDecision(request: Request): boolean {
  return request.method() === 'POST' && request.url().includes('/approvals/')
}
