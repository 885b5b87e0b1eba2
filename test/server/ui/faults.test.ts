import { expect } from 'chai'
import { isTooWide } from '../../support/browser.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'

const MODULES = Array.from({ length: 9 }, (_, n) => `  - { id: step${n}, module: echo }`).join('\n')
const MANY = `id: many
modules:
${MODULES}
exchange: [{ module: __entry__, protocol: TextMessageHandler, provider: [${Array.from({ length: 9 }, (_, n) => `step${n}`)}] }]`
/** Each step answers into the stage, from which the next one begins: as wide as seven cards, whichever way it is drawn. */
const CHAIN = `id: chain
modules:
  - { id: pipeline, module: orchestrator/pipeline }
  - { id: stage, module: orchestrator/stage }
${MODULES}
exchange:
  - { module: __entry__, protocol: TextMessageHandler, provider: pipeline }
  - { module: pipeline, protocol: TextMessageHandler, provider: [${Array.from({ length: 9 }, (_, n) => `step${n}`)}] }
${Array.from({ length: 9 }, (_, n) => `  - { module: step${n}, protocol: Response, provider: stage }`).join('\n')}
  - { module: pipeline, protocol: Response, provider: __response__ }
  - { module: stage, protocol: Response, provider: __response__ }`

describe('regressions of the debug UI', () => {
  const ui = DebugUi.forSuite()

  it('marks an agent whose runs all fail as failing', async () => {
    const page = await ui.open()
    const card = page.locator('.card', { hasText: 'finder' })
    await card.getByText('ready').waitFor()
    await ui.complete('finder', 'fail')
    await card.getByText('failing').waitFor()
    await card.getByText('100 %').waitFor()
    expect(await card.getByText('healthy').count()).equal(0)
  })

  it('shows what is wrong with the file of an agent that was never served', async () => {
    await ui.project.write('agents/late.yml', 'id: late\nmodules:\n  - { id: main, module: ecko }\n')
    const page = await ui.open('#/agents/late')
    await page.getByText('Its file is not served:').waitFor()
    await see(page, /agents\/late\.yml:3:\d+/)
    await see(page, /'ecko' was not found/)
    await page.goto(`${ui.url}/#/agents/nobody`)
    await page.getByText('or the agent of a file that is not served:').waitFor()
    await ui.project.write('agents/late.yml', 'id: late\nmodules:\n  - { id: main, module: echo }\n')
    await page.goto(`${ui.url}/#/agents/late`)
    await page.getByRole('tab', { name: 'Wiring' }).waitFor()
  })

  it('shows an answer whose Markdown is too deep to draw as its text, and the rest of the page beside it', async () => {
    const deep = '>'.repeat(10_000)
    const run = await ui.complete('echo', deep)
    const page = await ui.open(`#/runs/${run}?view=conversation`)
    const shown = page.locator('.markdown .pre')
    await shown.waitFor()
    expect(await shown.textContent()).equal(deep)
    expect(await isTooWide(page)).equal(false)
    await page.getByRole('tab', { name: 'Trace' }).click()
    await page.locator('.trace-row').first().waitFor()
    const other = await ui.complete('echo', '**bold**')
    await page.goto(`${ui.url}/#/runs/${other}?view=conversation`)
    await page.locator('.markdown strong', { hasText: 'bold' }).first().waitFor()
  })

  it('keeps the page around a screen that cannot be shown', async () => {
    const page = await ui.open('#/agents')
    await page.route('**/graphql', async (route) => {
      const response = await route.fetch()
      const answer = await response.json()
      if (answer.data?.metrics) answer.data.metrics = { total: {} }
      await route.fulfill({ response, json: answer })
    })
    await page.goto(`${ui.url}/#/metrics`)
    await page.getByRole('alert').getByText('This screen cannot be shown.').waitFor()
    await page.unroute('**/graphql')
    await page.getByRole('link', { name: 'Agents', exact: true }).click()
    await page.locator('.card', { hasText: 'finder' }).waitFor()
  })

  it('tries a screen again that could not be shown, also after another one of its kind', async () => {
    const page = await ui.open('#/agents')
    await page.route('**/graphql', async (route) => {
      const response = await route.fetch()
      const answer = await response.json()
      if (answer.data?.agent_config && route.request().postDataJSON().variables.id === 'finder')
        answer.data.agent_config = {}
      await route.fulfill({ response, json: answer })
    })
    const failure = page.getByText('This screen cannot be shown.')
    const wiring = page.getByRole('tab', { name: 'Wiring' })
    const visit = (agent: string) => page.goto(`${ui.url}/#/agents/${agent}`)
    await visit('finder')
    await failure.waitFor()
    await visit('echo')
    await wiring.waitFor()
    await page.unroute('**/graphql')
    await visit('finder')
    await wiring.waitFor()
    expect(await failure.count()).equal(0)
  })

  it('does not show a stopped run in red', async () => {
    const page = await ui.open('#/play/finder')
    await page.getByLabel('Message to finder').fill('slow keys')
    await page.getByRole('button', { name: 'Send' }).click()
    await see(page, /slow keys more/)
    await page.getByRole('button', { name: 'Stop' }).click()
    await see(page, 'Stopped')
    await page.goto(`${ui.url}/#/runs`)
    const row = page.getByRole('list', { name: 'Runs' }).getByRole('listitem').first()
    await row.getByText('cancelled').waitFor()
    expect(await row.locator('.bad-text').count()).equal(0)
    await row.getByRole('link').click()
    const colors = `['.code.exception', '.trace-row.cancelled'].map((each) => getComputedStyle(document.querySelector(each)).color)`
    await page.locator('.code.exception').waitFor()
    const [exception, call] = await page.evaluate<string[]>(colors)
    expect(exception).equal(call)
  })

  it('opens a failed run at the call that failed', async () => {
    await ui.project.write(
      'modules/breaks.ts',
      `import { defineModule, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Breaks', provides: [TextMessageHandler], uses: { tools: ToolProvider },
  create: ({ tools }) => ({ async handleText(text, run) { await tools.executeTool('look_far', { what: text }, run) } }) })`,
    )
    await ui.project.write(
      'agents/breaks.yml',
      'id: breaks\nmodules: [{ id: main, module: breaks }, { id: far, module: place, config: { name: far, fails: true } }]',
    )
    await eventually(() => expect(ui.server.host.get('breaks')?.id).equal('breaks'))
    await ui.complete('breaks', 'keys')
    const page = await ui.open('#/runs')
    await page.getByRole('list', { name: 'Runs' }).getByRole('link').first().click()
    const details = page.getByRole('complementary', { name: 'Selected call' })
    await details.getByRole('heading', { name: 'look_far(keys)' }).waitFor()
    await details.getByText('It is closed there').first().waitFor()
  })

  it('keeps the lanes of the selected call in view, beside a panel that can be resized', async () => {
    const run = await ui.complete('finder', 'keys')
    const page = await ui.open(`#/runs/${run}?view=sequence`)
    const arrow = page.getByRole('button', { name: /planner calls far.executeTool/ })
    await arrow.click()
    const isInView = () =>
      eventually(async () => {
        const [frame, box] = [await page.locator('.sequence').boundingBox(), await arrow.boundingBox()]
        if (!frame || !box) throw new Error('It is not drawn.')
        expect(box.x).greaterThan(frame.x - 1)
        expect(box.x + box.width).lessThan(frame.x + frame.width + 1)
      })
    await isInView()
    const handle = page.getByRole('separator', { name: 'Width of the panel' })
    const width = Number(await handle.getAttribute('aria-valuenow'))
    await handle.press('ArrowRight')
    expect(Number(await handle.getAttribute('aria-valuenow'))).equal(width - 40)
    await isInView()
    await page.keyboard.press('Escape')
    await eventually(async () => expect(await handle.count()).equal(0))
  })

  it('draws a wiring of ten modules legibly, even on a phone', async () => {
    await ui.project.write('agents/many.yml', MANY)
    await eventually(() => expect(ui.server.host.get('many')?.id).equal('many'))
    for (const width of [1280, 390]) {
      const page = await ui.open('#/agents/many', { viewport: { width, height: 844 } })
      const title = page.locator('.node-title').nth(1)
      await title.waitFor()
      // Nine tenths of the size of text at most, all in the frame.
      expect((await title.boundingBox())?.height).greaterThan(8)
      const drawing = page.getByRole('group', { name: 'Modules; each can be chosen' })
      const isWhole = () =>
        drawing.evaluate((each) => each.scrollWidth <= each.clientWidth && each.scrollHeight <= each.clientHeight)
      await eventually(async () => expect(await isWhole()).equal(true))
      await page.getByRole('button', { name: 'Zoom in' }).click()
    }
  })

  it('puts the modules of a wide wiring below each other on a phone, and its buttons in one line', async () => {
    await ui.add({ 'agents/chain.yml': CHAIN })
    const run = await ui.complete('chain', 'hello')
    const page = await ui.open(`#/runs/${run}?view=graph`, { viewport: { width: 390, height: 844 } })
    await page.locator('.node-title').nth(7).waitFor()
    const drawing = page.getByRole('group', { name: 'Modules; each can be chosen' })
    expect(await drawing.evaluate((each) => each.scrollWidth <= each.clientWidth)).equal(true)
    expect((await page.locator('.node-title').nth(1).boundingBox())?.height).greaterThan(9)
    const buttons = page.getByRole('link', { name: 'Try again' }).or(page.getByRole('button', { name: 'Export' }))
    const [first, last] = [await buttons.first().boundingBox(), await buttons.last().boundingBox()]
    expect(Math.abs((first?.y ?? 0) - (last?.y ?? 99))).lessThan(8)
  })

  it('shows a module that is chosen on a phone over the wiring', async () => {
    const page = await ui.open('#/agents/finder', { viewport: { width: 390, height: 844 } })
    await page.getByRole('button', { name: /^near/ }).click()
    const panel = page.getByRole('complementary', { name: 'Module near' })
    const box = await panel.boundingBox()
    expect((box?.y ?? 0) + (box?.height ?? 0)).equal(844)
    await panel.getByText('Where things may be').waitFor()
    await panel.getByRole('button', { name: 'Close' }).click()
    await eventually(async () => expect(await panel.count()).equal(0))
  })

  it('lets a wiring be dragged, fitted into its frame, and seen on the full screen', async () => {
    await ui.project.write('agents/many.yml', MANY)
    await eventually(() => expect(ui.server.host.get('many')?.id).equal('many'))
    const page = await ui.open('#/agents/many', { viewport: { width: 390, height: 844 } })
    const drawing = page.getByRole('group', { name: 'Modules; each can be chosen' })
    for (let step = 0; step < 5; step++) await page.getByRole('button', { name: 'Zoom in' }).click()
    const box = await drawing.boundingBox()
    if (!box) throw new Error('It is not drawn.')
    const scrolled = () => drawing.evaluate(({ scrollLeft }) => scrollLeft)
    const [x, y] = [box.x + box.width / 2, box.y + 5]
    await drawing.evaluate((each) => {
      each.scrollLeft = 0
    })
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(x - 120, y, { steps: 4 })
    await page.mouse.up()
    await eventually(async () => expect(await scrolled()).equal(120))
    await page.getByRole('button', { name: 'Fit', exact: true }).click()
    const isWhole = () => drawing.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)
    await eventually(async () => expect(await isWhole()).equal(true))
    await page.getByRole('button', { name: 'Full screen' }).click()
    await eventually(async () =>
      expect(await page.evaluate('document.fullscreenElement?.className')).equal('graph-frame'),
    )
  })

  it('keeps its navigation in view, however long the metrics are', async () => {
    for (let run = 0; run < 3; run++) await ui.complete('finder', 'keys')
    const page = await ui.open('#/metrics')
    await see(page, 'By tool')
    expect(await page.evaluate('document.documentElement.scrollHeight <= innerHeight')).equal(true)
  })

  it('works with the keyboard alone', async () => {
    await ui.complete('echo', 'find me')
    const page = await ui.open('#/agents')
    await page.locator('.card').first().waitFor()
    await page.keyboard.press('j')
    expect(await page.evaluate('document.activeElement.className')).equal('card-link')
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await see(page, 'find me')
    await page.keyboard.press('ArrowDown')
    expect(await page.evaluate('document.activeElement.dataset.index')).equal('0')
    await page.keyboard.press('k')
    await page.keyboard.press('/')
    expect(await page.evaluate('document.activeElement.placeholder')).equal('Search runs ( / )')
    await page.keyboard.press('Escape')
    await page.locator('h1').click()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Previous and next run').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByLabel('Go to an agent, a run, a thread or a screen').fill('find me')
    await page.getByRole('button', { name: /echo: find me/ }).waitFor()
    await page.keyboard.press('Enter')
    await see(page, 'main.handleText')
    await page.keyboard.press('Control+k')
    await page.getByLabel('Go to an agent, a run, a thread or a screen').fill('theme: dark')
    await page.getByRole('button', { name: 'Theme: dark action' }).waitFor()
    await page.keyboard.press('Enter')
    await eventually(async () => expect(await page.evaluate('document.documentElement.dataset.theme')).equal('dark'))
  })

  it('opens a dialog before the next key arrives', async () => {
    await ui.complete('echo', 'hello')
    const page = await ui.open('#/agents/echo')
    await page.getByRole('button', { name: 'Clear traces' }).waitFor()
    const press = (key: string, ctrlKey = false) =>
      `dispatchEvent(new KeyboardEvent('keydown', ${JSON.stringify({ key, ctrlKey })}))`
    const openedBy = (act: string) =>
      page.evaluate<string>(`(async () => {
        ${act}
        await new Promise(queueMicrotask)
        const dialog = document.querySelector('dialog:modal')
        const focus = dialog?.querySelector(':focus')
        dialog?.close()
        return focus?.ariaLabel ?? focus?.textContent
      })()`)
    const click = `[...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Clear traces').click()`
    expect([await openedBy(press('k', true)), await openedBy(press('?')), await openedBy(click)]).deep.equal([
      'Go to an agent, a run, a thread or a screen',
      'Close',
      'Cancel',
    ])
  })

  it('finds first what begins with the text, and tells runs apart by their age', async () => {
    await ui.add({ 'agents/echo-again.yml': 'id: echo-again\nmodules: [{ id: main, module: echo }]' })
    await ui.complete('echo', 'hello')
    const page = await ui.open()
    await see(page, 'Says it again')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('echo')
    const found = page.getByRole('dialog', { name: 'Go to' }).getByRole('button')
    await eventually(async () =>
      expect(await found.locator('.menu-title').allInnerTexts()).deep.equal([
        'echo',
        'echo-again',
        'Ask echo',
        'Ask echo-again',
        'echo: hello',
      ]),
    )
    await found.getByText('run · just now').waitFor()
  })

  it('sorts the runs by column, and keeps the order and the time in the address', async () => {
    await ui.complete('echo', 'quick')
    await ui.complete('finder', 'keys')
    const page = await ui.open('#/runs')
    const first = page.getByRole('list', { name: 'Runs' }).getByRole('listitem').first()
    await first.getByText('keys').first().waitFor()
    await page.getByRole('button', { name: 'Agent' }).click()
    await page.getByRole('button', { name: 'Agent' }).click()
    await first.getByText('quick').first().waitFor()
    await page.getByLabel('Time').selectOption('1h')
    await page.locator('.chips').getByText('last hour').waitFor()
    expect(page.url()).contain('sort=agent_id&order=asc&range=1h')
    await page.reload()
    await first.getByText('quick').first().waitFor()
  })

  it('calls a single tool with a form made from its schema', async () => {
    await ui.complete('finder', 'keys')
    const page = await ui.open('#/agents/finder')
    await page.getByRole('tab', { name: 'Tools' }).click()
    await page.getByText('look_near').first().click()
    await page.locator('details[open]').getByLabel('what').fill('glasses')
    await page.getByRole('button', { name: 'Call look_near' }).click()
    await see(page, 'found glasses')
    await page.getByRole('link', { name: 'View the run' }).click()
    await see(page, 'look_near(glasses)')
  })
})
