import { expect } from 'chai'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'
import { askKeeper } from '../../support/keeper.ts'

const TILL = `import { defineTool, Type } from 'agent-host'
const parameters = Type.Object({})
export const count = defineTool({ description: 'Counts.', parameters, execute: () => '40' })
export const pay = defineTool({ description: 'Pays.', parameters, needsApproval: true, execute: () => 'paid' })`
const TILL_AGENT = `id: till
modules:
  - { id: llm, module: llm/mock, config: { replies: [{ tool_calls: [{ name: count, arguments: {} }] }, Forty.] } }
  - { id: tools, module: tools/local, config: { files: [tools/till.ts] } }
  - { id: loop, module: orchestrator/tool-loop }`

const NO_CARDS = `id: no-cards
title: No cards
modules:
  - { id: on-call, module: place, config: { name: 'no', fails: false } }
  - id: main
    module: llm/mock
    config:
      replies:
        - text: |
            Be short.

            Note: stay kind.
          usage: { model: m, input_tokens: 1, output_tokens: 1 }
  - { id: loop, module: orchestrator/tool-loop }
  - { id: off, module: place, config: { name: yes-and-no, fails: true } }`

describe('agents in the debug UI', () => {
  const ui = DebugUi.forSuite()

  it('shows a memory, and a conversation by its user', async () => {
    await askKeeper(ui)
    const page = await ui.open('#/agents/keeper')
    await page.getByRole('tab', { name: 'Memory' }).click()
    const memory = page.getByRole('region', { name: 'Memory' })
    await memory.getByText('The lamp is red').waitFor()
    await memory.getByLabel('Search in the memory').fill('which lamp')
    await memory.getByRole('button', { name: 'Search' }).click()
    await memory.getByLabel('Score').waitFor()
    const conversation = page.getByRole('region', { name: 'Kept conversation' })
    await conversation.getByRole('button', { name: 'Read' }).click()
    await conversation.getByText('Nothing is kept under these names.').waitFor()
    await conversation.getByLabel('User').fill('ann')
    await conversation.getByRole('button', { name: 'Read' }).click()
    await conversation.getByText('I will remember that.').waitFor()
    await conversation.getByText('conversation_id').waitFor()
  })

  it('marks tools that need an approval, with their calls', async () => {
    await ui.add({ 'tools/till.ts': TILL, 'agents/till.yml': TILL_AGENT })
    await ui.complete('till', 'how much?')
    const page = await ui.open('#/agents/till?view=tools')
    const tools = page.locator('.tool')
    await tools.getByText('needs approval').waitFor()
    // The numbers come after the tools.
    await eventually(async () => {
      const texts = (await tools.allInnerTexts()).map((text) =>
        text.replace(/\s+/g, ' ').replace(/\d+(\.\d+)? ms/, 'n ms'),
      )
      expect(texts).deep.equal(['count Counts. 1 call p95 n ms', 'pay Pays. needs approval'])
    })
  })

  it('clears the traces of an agent after a confirmation', async () => {
    await ui.complete('echo', 'soon gone')
    await ui.complete('desk', 'stays')
    const page = await ui.open('#/agents/echo')
    await page.getByRole('button', { name: 'Clear traces' }).click()
    const dialog = page.getByRole('dialog', { name: 'Clear traces' })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Clear traces' }).click()
    await dialog.getByRole('button', { name: 'Clear traces' }).click()
    await see(page, 'Traces cleared')
    expect(await ask(ui.server, '{ runs { runs { input } } }')).deep.equal({ runs: { runs: [{ input: 'stays' }] } })
  })

  it('shows cost, models and latest run of an agent', async () => {
    await askKeeper(ui)
    const page = await ui.open('#/')
    const card = page.locator('.card', { hasText: 'keeper' })
    await card.getByText('$2.00').waitFor()
    // Runs of one hour are no course.
    expect(await card.getByRole('img', { name: 'Runs by hour, last 24 hours' }).count()).equal(0)
    await card.getByText('llm/mock').waitFor()
  })

  it('lists agents in a table from twelve on', async () => {
    const page = await ui.open('#/')
    await page.locator('.card').first().waitFor()
    const many = Array.from({ length: 9 }, (_, n) => `many${n}`)
    await ui.add(
      Object.fromEntries(many.map((id) => [`agents/${id}.yml`, `id: ${id}\nmodules: [{ id: main, module: echo }]`])),
    )
    await ui.complete('many3', 'hello')
    const row = page.getByRole('row', { name: /many3/ })
    await row.getByText('healthy').waitFor()
    expect(await page.locator('.card').count()).equal(0)
    // Nothing is drawn of a single hour, and no column waits for it.
    expect(await page.getByRole('columnheader', { name: 'By hour' }).count()).equal(0)
    await row.getByRole('link', { name: '1', exact: true }).click()
    await see(page, 'hello')
  })

  it('shows what a new version changed, and links each to its runs', async () => {
    await ui.complete('echo', 'to the old one')
    const file = 'agents/echo.yml'
    await ui.add({ [file]: 'id: echo\ndescription: Says it twice\nmodules: [{ id: main, module: echo }]' })
    await ui.project.write(file, 'id: echo\nmodules: [{ id: main, module: ecco }]')
    await ui.server.agents.scan()
    const page = await ui.open('#/agents/echo?view=history')
    const loads = page.locator('.loads > li')
    await loads.nth(0).getByText('rejected').waitFor()
    await loads.nth(1).getByText('2 changed lines').click()
    expect(await loads.nth(1).locator('.diff-line').allInnerTexts()).deep.equal([
      ' id: echo',
      '−description: Says it again',
      '+description: Says it twice',
      ' modules: [{ id: main, module: echo }]',
    ])
    await loads
      .nth(2)
      .getByRole('link', { name: /^runs of version/ })
      .click()
    await see(page, 'to the old one')
    expect(page.url()).contain('&version=')
  })

  it('colours no word of a name, and no line of a prompt, as something else', async () => {
    await ui.add({ 'agents/no-cards.yml': NO_CARDS })
    const page = await ui.open('#/agents/no-cards?view=definition')
    const shown = (name: string) => page.locator(`.hljs-${name}`).allInnerTexts()
    await eventually(async () => expect(await shown('literal')).deep.equal(['false', 'true']))
    expect(await shown('attr')).not.include('Note:')
    expect((await shown('string')).join(' '))
      .contain('no-cards')
      .contain('No cards')
      .contain('Note: stay kind.')
  })

  it('opens project files in the editor, and highlights the definition', async () => {
    const page = await ui.open('#/agents/echo?view=definition')
    const link = page.getByRole('link', { name: 'Open in editor' })
    expect(await link.getAttribute('href')).equal(`vscode://file${ui.project.dir}/agents/echo.yml`)
    await eventually(async () => expect(await page.locator('.code .hljs-attr').count()).greaterThan(2))
  })
})
