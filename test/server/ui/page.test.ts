import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { findBarriers, isTooWide } from '../../support/browser.ts'
import { DebugUi, HOSTILE, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'

describe('the debug UI in a browser', function () {
  this.timeout(60_000)
  const ui = DebugUi.forSuite()

  it('shows every screen with real runs, accessibly, in light and dark, wide and narrow', async () => {
    const run = await ui.complete('finder', 'keys')
    await ui.complete('finder', 'fail')
    await ui.complete('echo', 'hello')
    await ui.complete('desk/billing', 'my bill')
    await ui.project.write('agents/broken.yml', 'id: broken\nmodules:\n  - { id: a, module: nope }')
    await ui.server.agents.scan()
    const screens: Record<string, string> = {
      '': 'agents/broken.yml:3',
      '#/agents/finder?module=near': 'look_near',
      '#/agents/finder?view=definition': 'api_key: [redacted]',
      '#/agents/finder?view=history': 'registered',
      '#/approvals': 'Nothing waits for you',
      '#/play/finder?beside=echo': 'Ask finder and echo',
      '#/metrics?range=7d': 'By day',
      '#/play/desk?entry=billing': 'Two departments',
      '#/runs': 'my bill',
      [`#/runs/${run}`]: 'handleText',
      [`#/runs/${run}?view=sequence`]: 'executeTool look_near(keys)',
      [`#/runs/${run}?view=graph`]: 'planner',
      '#/agents/finder': 'planner',
      [`#/runs/${run}?view=events`]: 'planner.handleText',
      [`#/runs/${run}?view=conversation`]: 'I looked for keys',
      '#/metrics': 'Time to first token',
      '#/nowhere': 'There is no such page',
      '#/runs/unknown': 'There is no such run',
      '#/agents/unknown': "Agent 'unknown' not found",
    }
    const page = await ui.open('', { colorScheme: 'light' })
    for (const [hash, text] of Object.entries(screens)) {
      await page.emulateMedia({ colorScheme: 'light' })
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.goto(`${ui.url}/${hash}`)
      await see(page, text)
      expect([hash, await isTooWide(page), await findBarriers(page)]).deep.equal([hash, false, []])
      // What is left to see in the dark are its colours.
      await page.emulateMedia({ colorScheme: 'dark' })
      expect([hash, await findBarriers(page, { runOnly: ['color-contrast'] })]).deep.equal([hash, []])
      await page.setViewportSize({ width: 390, height: 800 })
      expect([hash, await isTooWide(page)]).deep.equal([hash, false])
    }
  }).timeout(180_000)

  it('stays accessible with open dialogs, forms, panels and conversations', async () => {
    const run = await ui.complete('finder', 'keys')
    const opened: Record<string, (page: Page) => Promise<unknown>> = {
      '#/': async (page) => {
        await page.locator('h1').click()
        await page.keyboard.press('?')
        await see(page, 'Previous and next run')
      },
      '#/metrics': async (page) => {
        await page.keyboard.press('Control+k')
        await see(page, 'Failed runs')
      },
      '#/agents/finder?module=near': async (page) => {
        await page.getByText('look_near').first().click()
        await page.getByLabel('what').fill('glasses')
      },
      [`#/runs/${run}`]: (page) => page.getByRole('treeitem', { name: /look_far/ }).click(),
      '#/play/finder?beside=echo': async (page) => {
        await page.getByRole('textbox', { name: /^Message/ }).fill('keys')
        await page.keyboard.press('Enter')
        await page.getByText('look_far(keys)').click()
        await page.getByRole('button', { name: 'Retry' }).nth(1).waitFor()
      },
    }
    for (const [hash, act] of Object.entries(opened)) {
      const page = await ui.open(hash, { colorScheme: 'light' })
      await page.locator('main h1').waitFor()
      await act(page)
      expect([hash, await findBarriers(page)]).deep.equal([hash, []])
      await page.emulateMedia({ colorScheme: 'dark' })
      expect([hash, await findBarriers(page, { runOnly: ['color-contrast'] })]).deep.equal([hash, []])
      await page.close()
    }
  })

  it('shows output of agents, users and tools as plain text, even if it looks like HTML', async () => {
    const run = await ui.complete('finder', HOSTILE)
    const page = await ui.open()
    const events = await ask<{ run: { events: { events: { call_id: string }[] } } }>(
      ui.server,
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
      await page.goto(`${ui.url}/${hash}`)
      await see(page, /<img src=x onerror=alert\(1\)>/)
      expect([
        hash,
        await page.locator('main img, main script, main b:has-text("bold"), a[href^="javascript:"]').count(),
      ]).deep.equal([hash, 0])
    }
    await page.goto(`${ui.url}/#/play/echo`)
    await page.getByLabel('Message to echo').fill(HOSTILE)
    await page.getByRole('button', { name: 'Send' }).click()
    await page
      .getByRole('article')
      .nth(1)
      .getByText(/<script>alert\(2\)/)
      .waitFor()
    expect(await page.locator('main img, main script').count()).equal(0)
  })

  it('picks up edits of agents: an invalid file shows its error with its line until it is fixed', async () => {
    const page = await ui.open('#/agents/echo')
    await see(page, 'Says it again')
    await ui.project.write(
      'agents/echo.yml',
      'id: echo\ndescription: Says it again\nmodules: [{ id: main, module: ecco }]',
    )
    await see(page, /The current file has errors/)
    await see(page, 'agents/echo.yml:3')
    await page.goto(`${ui.url}/#/`)
    await see(page, 'last good version')
    await ui.project.write(
      'agents/echo.yml',
      'id: echo\ndescription: Says it twice\nmodules: [{ id: main, module: echo }]',
    )
    await see(page, 'Says it twice')
    await eventually(async () => expect(await page.getByText('last good version').count()).equal(0))
  })

  it('works under a path prefix', async () => {
    const proxy = await makeProxy(ui.url, '/tools/agents')
    try {
      const { port } = proxy.address() as AddressInfo
      ui.url = `http://127.0.0.1:${port}/tools/agents`
      await ui.complete('echo', 'behind a proxy')
      const page = await ui.open('#/play/echo')
      await page.getByLabel('Message to echo').fill('hello from here')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByRole('article').nth(1).getByText('hello from here').waitFor()
      await page.getByRole('link', { name: 'View the run' }).click()
      await see(page, 'handleText')
      await page.goto(`${ui.url}/#/`)
      await see(page, `curl ${ui.url}/compat/chat/completions`)
      await page.getByText('Live', { exact: true }).waitFor()
    } finally {
      proxy.closeAllConnections()
      proxy.close()
    }
  })

  it('reports a lost server, and continues once it is back', async () => {
    const page = await ui.open('#/runs')
    await see(page, 'No run yet')
    await page.getByText('Live', { exact: true }).waitFor()
    const { port } = new URL(ui.url)
    await ui.server.close()
    await page.getByText('Connecting…').waitFor()
    await see(page, 'No connection to the server.')
    await ui.serve(Number(port))
    await page.getByText('Live', { exact: true }).waitFor({ timeout: 15_000 })
    await ui.complete('echo', 'after all')
    await see(page, 'after all')
    expect(await page.getByText('No connection to the server.').count()).equal(0)
    // The browser itself complains of a server that is not there.
    ui.forgive()
  })

  it('remembers the theme', async () => {
    const page = await ui.open('', { colorScheme: 'light' })
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await background()
    await page.getByRole('button', { name: 'Theme: system. Change' }).click()
    await page.getByRole('button', { name: 'Theme: light. Change' }).click()
    const dark = await background()
    expect(dark).not.equal(light)
    await page.reload()
    await see(page, 'Agents')
    expect(await background()).equal(dark)
  })
})

/** Passes on what comes below a prefix, without it; nothing else is there. */
async function makeProxy(target: string, prefix: string): Promise<Server> {
  const proxy = createServer((request, response) => {
    const { url = '' } = request
    // What is asked for beside the prefix is another's.
    if (!url.startsWith(`${prefix}/`)) return response.writeHead(404).end()
    const path = url.slice(prefix.length)
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
