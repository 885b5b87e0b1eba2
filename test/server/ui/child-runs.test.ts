import { expect } from 'chai'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'

/** Counts 10 tokens of input in each of its two answers of the model, and `output` of output in the last one. */
const caller = (id: string, called: string, output = 0) => `id: ${id}
modules:
  - id: llm
    module: llm/mock
    scope: agent
    config:
      replies:
        - { tool_calls: [{ name: ${called}, arguments: { message: 'ask ${called}' } }], usage: { input_tokens: 10, output_tokens: 0 } }
        - { text: '${id} is done', usage: { input_tokens: 10, output_tokens: ${output} } }
  - { id: team, module: tools/agents, config: { agents: [${called}] } }
  - { id: loop, module: orchestrator/tool-loop }`

const NO_BOX = { x: 0, y: 0, width: 0, height: 0 }

describe('runs of agents that an agent called, in the debug UI', () => {
  const files = {
    'agents/chief.yml': caller('chief', 'front', 1),
    'agents/front.yml': caller('front', 'back', 20),
    'agents/back.yml': caller('back', 'echo', 300),
  }
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

  it('are one tree, one diagram and one graph on three levels, and the tokens of each count in those above it', async () => {
    const run = await ui.complete('chief', 'hello')
    const page = await ui.open(`#/runs/${run}`, { viewport: { width: 1440, height: 1000 } })
    const shoot = async (name: string) => {
      if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png` })
    }
    await see(page, /^echo main/)
    const levels = [
      'front(ask front)',
      'front loop.handleText',
      'back(ask back)',
      'back loop.handleText',
      'echo(ask echo)',
    ]
    const level = (name: string) =>
      page.getByRole('treeitem').filter({ hasText: name }).first().getAttribute('aria-level')
    await shoot('trace')
    expect(await Promise.all([...levels, 'echo main.handleText'].map(level))).deep.equal(['2', '3', '4', '5', '6', '7'])
    await page.locator('header, main').getByText('60 → 321 tokens', { exact: true }).waitFor()
    const query = `{ runs { runs { run_id below { agent_id input_tokens output_tokens } } } }`
    const { runs } = await ask<{ runs: { runs: { run_id: string; below: object[] }[] } }>(ui.server, query)
    expect(runs.runs.find(({ run_id }) => run_id === run)?.below).deep.equal([
      { agent_id: 'front', input_tokens: 40, output_tokens: 320 },
      { agent_id: 'back', input_tokens: 20, output_tokens: 300 },
      { agent_id: 'echo', input_tokens: 0, output_tokens: 0 },
    ])
    await page.getByRole('tab', { name: 'Sequence' }).click()
    for (const name of ['team calls front/loop', 'front/team calls back/loop', 'back/team calls echo/main']) {
      await page.getByRole('button', { name: new RegExp(`^${name}\\.handleText`) }).waitFor()
    }
    await shoot('sequence')
    await page.getByRole('tab', { name: 'Graph' }).click()
    const groups = page.locator('.graph-group')
    await eventually(async () => expect(await groups.allTextContents()).deep.equal(['front', 'back', 'echo']))
    await shoot('graph')
  })
})
