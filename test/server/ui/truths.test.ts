import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { DESK_FILES, REFUND, RETURNS } from '../../support/desk-example.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'

describe('what the debug UI says', () => {
  const ui = DebugUi.forSuite({ record: 1 }, DESK_FILES)

  const askAgent = async (input: string, user = 'ada', model = 'desk'): Promise<string> => {
    const payload = { model, user, input }
    const { id } = (await ui.server.app.inject({ method: 'POST', url: '/compat/responses', payload })).json()
    return id.replace('resp_', '')
  }
  const decide = async (run: string, payload: object) => {
    const url = `/compat/approvals/mcpr_${run}-000`
    const { continued_by: next } = (await ui.server.app.inject({ method: 'POST', url, payload })).json()
    return String(next).replace('resp_', '')
  }
  const turnsOf = (page: Page) =>
    page.locator('.conversation > *').evaluateAll((turns) => turns.map(({ className }) => className))

  it('lists the users of a memory with their entries, and deletes one, or all of a user, after asking twice', async () => {
    await askAgent('Remember that I prefer e-mail.')
    await askAgent('Remember that I live in Lima.', 'bob')
    await askAgent('Remember that I like tea.', 'bob')
    const page = await ui.open('#/agents/desk?view=memory')
    const memory = page.getByRole('region', { name: 'Memory' })
    const users = memory.getByRole('list', { name: 'Users' }).getByRole('button')
    await eventually(async () => expect(await users.allTextContents()).deep.equal(['ada 1', 'bob 2']))
    await page.setViewportSize({ width: 390, height: 800 })
    expect((await memory.getByRole('searchbox').boundingBox())?.width).greaterThan(170)
    await see(page, 'The customer says: I prefer e-mail.')
    await users.filter({ hasText: 'bob' }).click()
    const tea = memory.getByRole('listitem').filter({ hasText: 'I like tea' })
    await tea.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await eventually(async () => expect(await users.allTextContents()).deep.equal(['ada 1', 'bob 1']))
    await memory.getByRole('button', { name: 'Delete all' }).click()
    await page.getByRole('dialog').getByText('Delete everything that is remembered of bob for good?').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete all' }).click()
    await eventually(async () => expect(await users.allTextContents()).deep.equal(['ada 1']))
  })

  it("counts a person's no as a decision, not as a failed tool", async () => {
    const waiting = await askAgent(REFUND)
    const next = await decide(waiting, { decision: 'reject', reason: 'Too much' })
    const query = `query($id: String!) { run(run_id: $id) { status errors error below { tools { name calls errors rejected } } } metrics(agent_id: "billing") { tools { tool_name numbers { count errors rejected } } } }`
    await eventually(async () => {
      const { run, metrics } = await ask<{ run: { below: object[] }; metrics: object }>(ui.server, query, { id: next })
      expect(run).deep.equal({
        status: 'completed',
        errors: 0,
        error: null,
        below: [{ tools: [{ name: 'refund', calls: 1, errors: 0, rejected: 1 }] }],
      })
      expect(metrics).deep.equal({
        tools: [{ tool_name: 'refund', numbers: { count: 1, errors: 0, rejected: 1 } }],
      })
    })
    const page = await ui.open(`#/runs/${next}`)
    await page.getByRole('treeitem').filter({ hasText: 'refund(INV-7, 40)' }).click()
    await see(page, 'It was not allowed, and was not executed.')
    expect(await page.locator('.run-head .warn-text, .run-head .bad-text').count()).equal(0)
    await page.goto(`${ui.url}/#/metrics`)
    await page.locator('.figures').getByText('Rejected calls').waitFor()
  })

  it('marks what a guard has redacted, and folds the lists of own protocols', async () => {
    const run = await askAgent(RETURNS)
    const page = await ui.open(`#/runs/${run}`)
    await page.locator('.run-head').getByText('redacted by no-addresses').waitFor()
    await page.getByRole('treeitem').filter({ hasText: 'no-addresses.checkOutput redacted' }).waitFor()
    await page.getByRole('treeitem').filter({ hasText: 'read_article(returns)' }).waitFor()
    const rows = await page.getByRole('treeitem').allInnerTexts()
    expect(rows.filter((row) => /listTools|titles/.test(row))).deep.equal([])
  })

  it('draws the agents that an agent can call, and no line to a model that a guard does not ask', async () => {
    const page = await ui.open('#/agents/desk')
    const wiring = page.getByRole('region', { name: 'Wiring of the agent' })
    const titles = () => wiring.locator('.node').allTextContents()
    await eventually(async () =>
      expect((await titles()).join())
        .contain('billing')
        .contain('kb'),
    )
    expect(await edges(page)).not.contain('no-addresses llm')
    const run = await askAgent(RETURNS)
    await page.goto(`${ui.url}/#/runs/${run}?view=graph`)
    await page.locator('.node', { hasText: 'billing' }).waitFor()
    expect(await edges(page))
      .contain('orchestrator llm')
      .not.contain('no-addresses llm')
  })

  it('puts what was said before a tool before it', async () => {
    const waiting = await askAgent('Refund 40 euros for INV-7: it arrived broken.', 'ada', 'billing')
    const next = await decide(waiting, { decision: 'approve' })
    const page = await ui.open(`#/runs/${waiting}?view=conversation`)
    await see(page, 'The customer says about INV-7: it arrived broken.')
    await eventually(async () => {
      const kinds = (await turnsOf(page)).map((name) => name.split(' ').at(-1))
      expect(kinds).deep.equal(['user', 'assistant', 'tool-turn'])
    })
    await page.goto(`${ui.url}/#/runs/${next}?view=conversation`)
    await see(page, 'Refunded 40 euros for INV-7.')
  })

  it('takes calls that a rerun had from the tape as no differences, and reruns as no runs of the metrics', async () => {
    const run = await askAgent(RETURNS)
    const page = await ui.open(`#/runs/${run}`)
    await page.getByRole('button', { name: 'Rerun from here' }).click()
    await page.getByRole('button', { name: 'Rerun and compare' }).click()
    await page.getByText('tape', { exact: true }).first().waitFor()
    expect(await page.getByText('only 1st').count()).equal(0)
    await page.getByText('no differences').waitFor()
    const changes = page
      .locator('.compare-figures tbody tr')
      .filter({ hasText: /Tokens|calls/ })
      .locator('td:last-child')
    expect(await changes.allInnerTexts()).deep.equal(['', '', '', ''])
    const { metrics, runs } = await ask<{ metrics: object; runs: { total: number } }>(
      ui.server,
      '{ metrics(agent_id: "desk") { total { count } } runs(filter: { agent_id: "desk" }) { total } }',
    )
    expect([metrics, runs]).deep.equal([{ total: { count: 1 } }, { total: 2 }])
  })

  it('shows whole what differs in a variant, and rows that are no higher than their place', async () => {
    const value = `Be ${'very '.repeat(9)}brief.`
    const variant = [{ agent: 'billing', module: 'orchestrator', path: ['system_prompt'], value }]
    await ui.server.host.openVariant('desk', variant)
    const turn = { messages: [{ role: 'user' as const, content: RETURNS }], user: 'ada', variant }
    const { runId } = await ui.server.host.start('desk', turn).result
    const page = await ui.open(`#/compare?left=${runId}&right=${runId}`, { viewport: { width: 390, height: 800 } })
    await page.getByText('variant: ').first().waitFor()
    expect(await page.evaluate<number>(CLIPPED_FACTS)).equal(0)
    await page.setViewportSize({ width: 1400, height: 800 })
    await page.goto(`${ui.url}/#/runs?user=ada`)
    await page.getByText('variant', { exact: true }).first().waitFor()
    expect(await page.evaluate<number>(HIGH_CELLS)).equal(0)
  })

  it('says of a waiting run what it waits for, and of a new version that a file of it was changed', async () => {
    await askAgent(REFUND)
    const page = await ui.open('#/runs?user=ada')
    await eventually(async () => expect(await page.getByText('Waits for an approval of refund').count()).equal(2))
    await ui.project.write('prompts/desk.md', 'You run the desk.')
    await page.goto(`${ui.url}/#/agents/desk?view=history`)
    await see(page, 'The same text: a file that it uses was changed.')
    await ui.project.write('prompts/desk.md', DESK_FILES['prompts/desk.md'] ?? '')
  })

  it('lists the runs of one user', async () => {
    await askAgent(RETURNS, 'ada')
    const bob = await askAgent(RETURNS, 'bob')
    const page = await ui.open(`#/runs/${bob}`)
    await page.locator('.run-head').getByRole('link', { name: 'user bob' }).click()
    const rows = page.getByRole('list', { name: 'Runs' }).getByRole('listitem')
    await eventually(async () => expect((await rows.allInnerTexts()).every((row) => row.includes('bob'))).equal(true))
    await page.goto(`${ui.url}/#/runs?text=bob`)
    await eventually(async () => expect(await rows.count()).greaterThan(0))
    await page.goto(`${ui.url}/#/runs?user=nobody`)
    await see(page, 'No matching runs')
  })

  it('shows a conversation as its turns, with the run of each, and lists its runs', async () => {
    const post = async (url: string, payload: object) =>
      (await ui.server.app.inject({ method: 'POST', url: `/compat${url}`, payload })).json().id as string
    const say = (input: string, more: object) => post('/responses', { model: 'desk', user: 'ada', input, ...more })
    const first = await say('Remember that I like tea.', {})
    const second = await say(REFUND, { previous_response_id: first })
    const third = `resp_${await decide(second.replace('resp_', ''), { decision: 'approve' })}`
    const reads = { method: 'GET', url: `/compat/responses/${third}` } as const
    await eventually(async () =>
      expect((await ui.server.app.inject(reads)).json())
        .property('status')
        .equal('completed'),
    )
    const fourth = await say(RETURNS, { previous_response_id: third })
    const named = await post('/conversations', {})
    const ofNamed = await say(RETURNS, { conversation: named })
    const listed = async (conversation: string) => {
      const query =
        'query($c: String) { runs(filter: { conversation: $c }, sort: "started_at", ascending: true) { runs { run_id conversation } } }'
      return (await ask<{ runs: { runs: object[] } }>(ui.server, query, { c: conversation })).runs.runs
    }
    const [root = '', ...others] = [first, second, third, fourth].map((id) => id.replace('resp_', ''))
    await eventually(async () =>
      expect(await listed(root)).deep.equal([
        { run_id: root, conversation: null },
        ...others.map((run_id) => ({ run_id, conversation: root })),
      ]),
    )
    expect(await listed(named)).deep.equal([{ run_id: ofNamed.replace('resp_', ''), conversation: named }])
    const page = await ui.open(`#/runs/${others[2]}`)
    await page.locator('.run-head').getByRole('link', { name: 'conversation of 4 runs' }).click()
    await page.locator('.facts').getByText('3 turns').waitFor()
    expect((await turnsOf(page)).map((name) => name.split(' ').at(-1))).deep.equal([
      'user',
      'assistant',
      'user',
      'assistant',
      'turn-line',
      'assistant',
      'user',
      'assistant',
    ])
    await see(page, 'Refunded 40 euros for INV-7.')
    await page.getByRole('link', { name: 'As a list' }).click()
    const rows = page.getByRole('list', { name: 'Runs' }).getByRole('listitem')
    await eventually(async () => expect(await rows.count()).equal(4))
    await page.goto(`${ui.url}/#/runs?text=${root}`)
    await eventually(async () => expect(await rows.count()).equal(4))
    await page.goto(`${ui.url}/#/conversations/none`)
    await see(page, 'No such conversation')
  })
})

const edges = (page: Page) =>
  page.locator('.edge').evaluateAll((all) => all.map((each) => each.getAttribute('data-key')))

/** Number of lines of facts that begin left of where facts are shown. */
const CLIPPED_FACTS = `[...document.querySelectorAll('.facts.dotted > *')].flatMap((fact) => {
  const range = document.createRange()
  range.selectNodeContents(fact)
  const left = fact.parentElement.getBoundingClientRect().left + 16
  return [...range.getClientRects()].filter((line) => line.left < left)
}).length`
/** Number of cells with more than their rows have place for. */
const HIGH_CELLS = `[...document.querySelectorAll('.run-agent')].filter((cell) => cell.scrollHeight > cell.parentElement.clientHeight).length`
