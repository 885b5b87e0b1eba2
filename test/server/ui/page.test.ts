import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { type AgentServer, buildServer } from 'agent-host'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import {
  chromiumPath,
  findBarriers,
  isTooWide,
  launchBrowser,
  NO_BROWSER,
  openPage,
  type WatchedPage,
} from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'
import { chat } from '../../support/server.ts'
import { makeProject, type TempProject } from '../../support/temp-project.ts'

const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script> [link](javascript:alert(3)) "><b>bold</b>'

const PROJECT = {
  'agents/echo.yml': 'id: echo\ndescription: Says it again\nmodules: [{ id: main, module: echo }]',
  'agents/desk.yml': `id: desk
title: The desk
description: Two departments
modules:
  - { id: sales, module: echo, config: { prefix: 'sales ' } }
  - { id: billing, module: echo, config: { prefix: 'billing ' } }
exchange: [{ module: __entry__, protocol: TextMessageHandler, provider: [sales, billing] }]`,
  'agents/finder.yml': `id: finder
description: ${JSON.stringify(`Looks in two places at once ${HOSTILE}`)}
modules:
  - { id: planner, module: planner }
  - { id: near, module: place, config: { name: near, api_key: literal-secret } }
  - { id: far, module: place, config: { name: far, fails: true } }
exchange: [{ module: planner, protocol: ToolProvider, provider: [near, far] }]`,
  'modules/place.ts': `import { defineModule, ToolProvider, Type } from 'agent-host'
export default defineModule({ name: 'Place', description: 'Where things may be', provides: [ToolProvider],
  config: Type.Object({ name: Type.String(), fails: Type.Boolean({ default: false }), api_key: Type.String({ default: '' }) }),
  create: (_, { name, fails }) => ({
    listTools: () => [{ name: 'look_' + name, description: 'Looks there', parameters: { type: 'object', properties: { what: { type: 'string' } } } }],
    async executeTool(tool, args) { await new Promise((done) => setTimeout(done, 15)); if (fails) throw new Error('It is closed there'); return { text: 'found ' + args.what } } }) })`,
  'modules/planner.ts': `import { defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
const wait = (ms, signal) => new Promise((resolve, reject) => { setTimeout(resolve, ms); signal.addEventListener('abort', () => reject(signal.reason)) })
export default defineModule({ name: 'Planner', provides: [TextMessageHandler], uses: { tools: many(ToolProvider), response: Response },
  create: ({ tools, response }) => ({ async handleText(text, run) {
    const lists = await Promise.all(tools.map((tool) => tool.listTools(run)))
    if (/^\\d+ calls$/.test(text)) {
      for (let n = 0; n < parseInt(text); n++) {
        // In no order that repeats, so that nothing is folded.
        const tool = tools[(n * n + (n >> 3)) % 7 < 3 ? 0 : 1]
        await tool.listTools(run)
      }
      return response.respondText('called')
    }
    await Promise.allSettled(tools.map((tool, n) => tool.executeTool(lists[n][0].name, { what: text }, run)))
    if (text === 'fail') throw new Error('The planner gave up')
    for (const word of ['I ', 'looked ', 'for ', text]) await response.respondText(word)
    // Until it is stopped.
    while (text.startsWith('slow')) { await response.respondText(' more'); await wait(100, run.signal) }
  } }) })`,
}

describe('the debug UI in a browser', function () {
  this.timeout(60_000)
  let project: TempProject
  let server: AgentServer
  let browser: Browser
  let url: string
  const pages: WatchedPage[] = []
  const open = async (hash = '', options = {}) => {
    const watched = await openPage(browser, `${url}/${hash}`, options)
    pages.push(watched)
    return watched.page
  }
  const complete = async (model: string, content: string): Promise<string> => {
    const { headers, body } = await server.app.inject({
      method: 'POST',
      url: '/compat/chat/completions',
      payload: chat(model, content),
    })
    expect(headers['x-request-id']).a('string')
    return (JSON.parse(body).id ?? '').replace('chatcmpl-', '')
  }
  const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor({ timeout: 5000 })

  before(async function () {
    if (!chromiumPath) {
      console.log(`      ${NO_BROWSER}`)
      this.skip()
    }
    browser = await launchBrowser()
  })
  after(() => browser?.close())
  beforeEach(async () => {
    project = await makeProject(PROJECT)
    const adapters = ['ChatCompatApiAdapter', 'McpApiAdapter']
    server = await buildServer({
      projectDir: project.dir,
      adapters,
      debug: true,
      port: 0,
      logLevel: 'silent',
      drainTimeout: 0,
    })
    url = await server.listen()
  })
  afterEach(async function () {
    const complaints = pages.splice(0).flatMap((watched) => watched.complaints)
    for (const context of browser?.contexts() ?? []) await context.close()
    await server?.close()
    if (this.currentTest?.state !== 'failed') expect(complaints).deep.equal([])
  })

  it('shows every screen with the data of real runs, without barriers, in light and dark, wide and narrow', async () => {
    const run = await complete('finder', 'keys')
    await complete('finder', 'fail')
    await complete('echo', 'hello')
    await complete('desk/billing', 'my bill')
    await project.write('agents/broken.yml', 'id: broken\nmodules:\n  - { id: a, module: nope }')
    await server.agents.scan()
    const screens: Record<string, string> = {
      '': 'agents/broken.yml:3',
      '#/agents/finder?module=near': 'look_near',
      '#/agents/finder?view=definition': 'api_key: [redacted]',
      '#/agents/finder?view=loads': 'registered',
      '#/play/desk?entry=billing': 'Two departments',
      '#/runs': 'my bill',
      [`#/runs/${run}`]: 'handleText',
      [`#/runs/${run}?view=waterfall`]: 'first text',
      [`#/runs/${run}?view=conversation`]: 'I looked for keys',
      '#/metrics': 'Time to first text',
      '#/nowhere': 'There is no such page',
      '#/runs/unknown': 'There is no such run',
      '#/agents/unknown': "Agent 'unknown' not found",
    }
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 1280],
      ['light', 390],
    ] as const) {
      const page = await open('', { colorScheme, viewport: { width, height: 800 } })
      for (const [hash, text] of Object.entries(screens)) {
        await page.goto(`${url}/${hash}`)
        await see(page, text)
        const where = `${hash} ${colorScheme} ${width}`
        expect([where, await isTooWide(page)]).deep.equal([where, false])
        if (width === 1280) expect([where, await findBarriers(page)]).deep.equal([where, []])
      }
    }
  })

  it('shows what agents, users and tools say as text, whatever it looks like', async () => {
    const run = await complete('finder', HOSTILE)
    const page = await open()
    const events = await ask<{ run: { events: { events: { call_id: string }[] } } }>(
      server,
      'query($id: String!) { run(run_id: $id) { events(method_name: "executeTool", event_type: "result") { events { call_id } } } }',
      { id: run },
    )
    const call = encodeURIComponent(events.run.events.events[0]?.call_id ?? '')
    const places = [
      '#/',
      '#/agents/finder',
      '#/runs',
      `#/runs/${run}?call=${call}`,
      `#/runs/${run}?view=conversation`,
      '#/agents/finder?view=definition',
    ]
    for (const hash of places) {
      await page.goto(`${url}/${hash}`)
      await see(page, /<img src=x onerror=alert\(1\)>/)
      expect([
        hash,
        await page.locator('main img, main script, main b:has-text("bold"), a[href^="javascript:"]').count(),
      ]).deep.equal([hash, 0])
    }
    await page.goto(`${url}/#/play/echo`)
    await page.getByLabel('Message to echo').fill(HOSTILE)
    await page.getByRole('button', { name: 'Send' }).click()
    await page
      .getByRole('article')
      .nth(1)
      .getByText(/<script>alert\(2\)/)
      .waitFor()
    expect(await page.locator('main img, main script').count()).equal(0)
  })

  it('opens a call by its address, and shows what was said and what went wrong', async () => {
    const run = await complete('finder', 'keys')
    const page = await open(`#/runs/${run}`)
    await page.getByRole('button', { name: /planner calls far\.executeTool, failed/ }).click()
    const details = page.getByRole('complementary', { name: 'Selected call' })
    await details.getByText('Error: It is closed there').waitFor()
    await details.getByText('look_far').waitFor()
    const address = page.url()
    expect(address).contain(`/runs/${run}?call=`)
    const other = await open(address.slice(address.indexOf('#')))
    await other.getByText('Error: It is closed there').waitFor()
    // The selection is shared by the views, and Escape from it is a button.
    await other.getByRole('tab', { name: 'Waterfall' }).click()
    await other.locator('.waterfall-row[data-selected="true"]').getByText('far').waitFor()
    await other.getByRole('button', { name: 'Close' }).click()
    expect(await other.locator('[data-selected="true"]').count()).equal(0)
  })

  it('filters runs, and keeps the filter in the address', async () => {
    await complete('finder', 'keys')
    await complete('finder', 'fail')
    await complete('echo', 'hello there')
    const page = await open('#/runs')
    const rows = page.getByRole('listitem')
    const shown = async (count: number) => eventually(async () => expect(await rows.count()).equal(count))
    await shown(3)
    await page.getByLabel('Agent').selectOption('finder')
    await shown(2)
    await page.getByLabel('Status').selectOption('failed')
    await shown(1)
    expect(page.url()).contain('#/runs?agent=finder&status=failed')
    await page.reload()
    await shown(1)
    await page.getByRole('button', { name: 'Clear' }).click()
    await shown(3)
    await page.getByLabel('Text', { exact: true }).fill('hello')
    await shown(1)
    await page.getByLabel('Text', { exact: true }).fill('')
    await page.getByLabel('Method').fill('executeTool')
    await shown(2)
    await page.getByLabel('Event').selectOption('exception')
    await shown(2)
    await page.getByLabel('Text', { exact: true }).fill('nothing of the kind')
    await see(page, 'No run fits these filters')
  })

  it('lets new runs wait, without moving what is looked at, and follows those that are shown', async () => {
    for (let run = 0; run < 30; run++) await complete('echo', `old ${run}`)
    const page = await open('#/runs')
    await see(page, 'old 29')
    await page.locator('.run-list').focus()
    await page.locator('[data-index="0"]').focus()
    for (let press = 0; press < 3; press++) await page.keyboard.press('ArrowDown')
    const focused = () => page.locator(':focus').innerText()
    expect(await focused()).contain('old 26')
    for (let run = 0; run < 2; run++) await complete('echo', `new ${run}`)
    await page.getByRole('button', { name: '2 new runs' }).waitFor()
    expect(await focused()).contain('old 26')
    expect(await page.getByText('new 1').count()).equal(0)
    await page.getByRole('button', { name: '2 new runs' }).click()
    await see(page, 'new 1')
    await page.keyboard.press('Tab')
    await page.locator('[data-index="0"]').focus()
    await page.keyboard.press('Enter')
    await see(page, 'handleText')
    expect(page.url()).match(/#\/runs\/[0-9a-f-]{36}$/)
    await page.goBack()
    await page.locator('[data-selected="true"]').getByText('new 1').first().waitFor()
  })

  it('talks to an agent, stops it, and leads to the run, which is seen while it goes on', async () => {
    const page = await open('#/play/finder')
    const message = page.getByLabel('Message to finder')
    await message.fill('keys')
    await message.press('Enter')
    await page.getByRole('article').nth(1).getByText('I looked for keys').waitFor()
    await message.fill('slow keys')
    await message.press('Enter')
    const link = page.getByRole('link', { name: 'See the run' }).nth(1)
    await link.waitFor()
    const run = (await link.getAttribute('href')) ?? ''
    const other = await open(run)
    await other.getByText('running').first().waitFor()
    const calls = other.locator('.figure', { hasText: 'Calls' }).locator('dd')
    const before = Number(await calls.innerText())
    await eventually(async () => expect(Number(await calls.innerText())).greaterThan(before))
    await page.getByRole('button', { name: 'Stop' }).click()
    await see(page, 'Stopped')
    await other.getByText('cancelled').first().waitFor()
    await page.getByRole('button', { name: 'New' }).click()
    await see(page, 'Ask finder')
    await page.getByLabel('Agent').selectOption('desk')
    await page.getByLabel('Entry point').selectOption('billing')
    await page.getByLabel('Message to desk/billing').fill('hello')
    await page.getByRole('button', { name: 'Send' }).click()
    await see(page, 'billing hello')
  })

  it('follows edits of agents: an invalid file shows its error with its line, and then is fine again', async () => {
    const page = await open('#/agents/echo')
    await see(page, 'Says it again')
    await project.write(
      'agents/echo.yml',
      'id: echo\ndescription: Says it again\nmodules: [{ id: main, module: ecco }]',
    )
    await see(page, /The file as it is now is not served/)
    await see(page, 'agents/echo.yml:3')
    await page.goto(`${url}/#/`)
    await see(page, 'last good version')
    await project.write(
      'agents/echo.yml',
      'id: echo\ndescription: Says it twice\nmodules: [{ id: main, module: echo }]',
    )
    await see(page, 'Says it twice')
    await eventually(async () => expect(await page.getByText('last good version').count()).equal(0))
  })

  it('draws only what can be seen of a run of 5,000 calls, and reaches its end', async () => {
    const run = await complete('finder', '5000 calls')
    const page = await open(`#/runs/${run}`)
    await see(page, '5,004')
    for (const [view, frame] of [
      ['Sequence', '.sequence'],
      ['Waterfall', '.waterfall-rows'],
    ] as const) {
      await page.getByRole('tab', { name: view }).click()
      await page.locator(frame).evaluate((element: { scrollTop: number; scrollHeight: number }) => {
        element.scrollTop = element.scrollHeight
      })
      await page.getByText('respondText').first().waitFor()
      expect(await page.locator('main *').count()).lessThan(1500)
    }
  })

  it('folds what repeats, and unfolds it when asked', async () => {
    await project.write(
      'modules/repeats.ts',
      `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Repeats', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText() { for (let n = 0; n < 30; n++) await response.respondText('word ') } }) })`,
    )
    await project.write('agents/repeats.yml', 'id: repeats\nmodules: [{ id: main, module: repeats }]')
    await eventually(() => expect(server.host.get('repeats')?.id).equal('repeats'))
    const page = await open(`#/runs/${await complete('repeats', 'go')}`)
    const fold = page.getByRole('button', { name: /29 more × response\.respondText/ })
    await fold.waitFor()
    expect(await page.locator('[data-call]').count()).equal(2)
    await fold.press('Enter')
    await eventually(async () => expect(await page.locator('[data-call]').count()).greaterThan(12))
  })

  it('gives a run away: as a file, and as a Mermaid text', async () => {
    const run = await complete('echo', 'hello')
    const page = await open(`#/runs/${run}`, {
      acceptDownloads: true,
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ])
    expect(download.suggestedFilename()).equal(`echo-${run}.jsonl`)
    const { readFile } = await import('node:fs/promises')
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).event_type)).deep.equal(['call', 'call', 'result', 'result'])
    await page.getByRole('button', { name: 'Copy as Mermaid' }).click()
    const text = await eventually(async () => {
      const copied = await page.evaluate(() =>
        (
          globalThis as unknown as { navigator: { clipboard: { readText(): Promise<string> } } }
        ).navigator.clipboard.readText(),
      )
      expect(copied).contain('sequenceDiagram')
      return copied
    })
    expect(text).equal(`sequenceDiagram
  participant p0 as agent echo
  participant p1 as main
  participant p2 as __response__
  p0->>+p1: handleText
  p1->>+p2: respondText
  p2-->>-p1: done
  p1-->>-p0: done
`)
  })

  it('leads from a point of the metrics to its runs', async () => {
    // The run and the click have to fall into one bucket, of 15 s.
    const intoBucket = (Date.now() / 1000) % 15
    if (intoBucket > 7) await setTimeout((15 - intoBucket) * 1000 + 100)
    await complete('echo', 'counted')
    const page = await open('#/metrics?range=15m&agent=echo')
    await see(page, 'Runs and errors')
    const plot = page.locator('.plot').first().locator('.u-over')
    const box = await plot.boundingBox()
    if (!box) throw new Error('The chart has no size.')
    // The latest bucket is the last one.
    await page.mouse.move(box.x + box.width - 3, box.y + box.height / 2)
    await page.mouse.down()
    await page.mouse.up()
    await see(page, 'counted')
    expect(page.url()).match(/#\/runs\?agent=echo&since=\d+&until=\d+/)
  })

  it('works under a path prefix', async () => {
    const proxy = await makeProxy(url, '/tools/agents')
    try {
      const { port } = proxy.address() as AddressInfo
      url = `http://127.0.0.1:${port}/tools/agents`
      await complete('echo', 'behind a proxy')
      const page = await open('#/play/echo')
      await page.getByLabel('Message to echo').fill('hello from here')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByRole('article').nth(1).getByText('hello from here').waitFor()
      await page.getByRole('link', { name: 'See the run' }).click()
      await see(page, 'handleText')
      await page.goto(`${url}/#/`)
      await see(page, `curl ${url}/compat/chat/completions`)
      await page.getByText('Live', { exact: true }).waitFor()
    } finally {
      proxy.closeAllConnections()
      proxy.close()
    }
  })

  it('says so when the server is gone, and goes on when it is back', async () => {
    const page = await open('#/runs')
    await see(page, 'No run yet')
    await page.getByText('Live', { exact: true }).waitFor()
    const { port } = new URL(url)
    await server.close()
    await page.getByText('Connecting…').waitFor()
    server = await buildServer({
      projectDir: project.dir,
      adapters: ['ChatCompatApiAdapter'],
      debug: true,
      port: Number(port),
      logLevel: 'silent',
    })
    await server.listen()
    await page.getByText('Live', { exact: true }).waitFor({ timeout: 15_000 })
    await complete('echo', 'after all')
    await see(page, 'after all')
    // The browser itself complains of a server that is not there.
    for (const watched of pages) watched.complaints.length = 0
  })

  it('keeps the colours that were chosen', async () => {
    const page = await open('', { colorScheme: 'light' })
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await background()
    await page.getByRole('button', { name: 'Colours: auto. Change' }).click()
    await page.getByRole('button', { name: 'Colours: light. Change' }).click()
    const dark = await background()
    expect(dark).not.equal(light)
    await page.reload()
    await see(page, 'Agents')
    expect(await background()).equal(dark)
  })
})

/** Passes on what comes below a prefix, without it. */
async function makeProxy(target: string, prefix: string): Promise<Server> {
  const proxy = createServer((request, response) => {
    const path = (request.url ?? '').replace(prefix, '')
    const passed = httpRequest(`${target}${path}`, { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  })
  await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening))
  return proxy
}
