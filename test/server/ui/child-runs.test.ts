import { expect } from 'chai'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'

const calls = (agent: string) => `{ tool_calls: [{ name: ${agent}, arguments: { message: 'ask ${agent}' } }] }`
const caller = (id: string, called: string) => `id: ${id}
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [${calls(called)}, '${id} is done'] } }
  - { id: team, module: tools/agents, config: { agents: [${called}] } }
  - { id: loop, module: orchestrator/tool-loop }`

const NO_BOX = { x: 0, y: 0, width: 0, height: 0 }

describe('runs of agents that an agent called, in the debug UI', function () {
  this.timeout(60_000)
  const files = { 'agents/front.yml': caller('front', 'back'), 'agents/back.yml': caller('back', 'echo') }
  const ui = DebugUi.forSuite({}, files)

  it('stand below its run in the list, once they are opened', async () => {
    await ui.complete('echo', 'alone')
    const page = await ui.open('#/runs')
    const rows = page.getByRole('list', { name: 'Runs' }).getByRole('listitem')
    await see(page, 'alone')
    await ui.complete('front', 'hello')
    await page.getByRole('button', { name: '1 new run' }).click()
    await eventually(async () => expect(await rows.count()).equal(2))
    await page.getByRole('button', { name: '2 runs below it' }).click()
    await eventually(async () => expect(await rows.count()).equal(4))
    const agents = await page.locator('.run-agent').allTextContents()
    expect(agents.map((agent) => agent.trim())).deep.equal(['front', 'back', 'echo', 'echo'])
    await page.getByLabel('Agent').selectOption('echo')
    await eventually(async () => expect(await rows.count()).equal(2))
  })

  it('are one tree, one diagram and one graph with it', async () => {
    const run = await ui.complete('front', 'hello')
    const page = await ui.open(`#/runs/${run}`)
    const level = (name: string) =>
      page.getByRole('treeitem').filter({ hasText: name }).first().getAttribute('aria-level')
    await see(page, /^echo/)
    expect([
      await level('back(ask back)'),
      await level('back loop.handleText'),
      await level('echo main.handleText'),
    ]).deep.equal(['2', '3', '5'])
    await page.getByRole('treeitem').filter({ hasText: 'echo main.handleText' }).click()
    const details = page.getByRole('complementary', { name: 'Selected call' })
    await details.getByText('back/team → echo/main.handleText').waitFor()
    await details.getByText('ask echo').first().waitFor()
    await page.getByRole('tab', { name: 'Sequence' }).click()
    await page.getByRole('button', { name: /^team calls back\/loop\.handleText/ }).waitFor()
    await page.getByRole('button', { name: /^back\/team calls echo\/main\.handleText/ }).waitFor()
    await page.getByRole('tab', { name: 'Graph' }).click()
    const groups = page.locator('.graph-group')
    await eventually(async () => expect(await groups.allTextContents()).deep.equal(['back', 'echo']))
    const boxes = async (selector: string) =>
      Promise.all((await page.locator(selector).all()).map(async (each) => (await each.boundingBox()) ?? NO_BOX))
    const [back = NO_BOX] = await boxes('.graph-group rect')
    const inside = (await boxes('.graph .node')).filter(
      ({ x, y, width, height }) =>
        x >= back.x && y >= back.y && x + width <= back.x + back.width && y + height <= back.y + back.height,
    )
    expect(inside.length).greaterThanOrEqual(3)
  })
})
