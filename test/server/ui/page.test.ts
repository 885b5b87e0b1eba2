import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { DebugUi, HOSTILE, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'

describe('the debug UI in a browser', () => {
  const ui = DebugUi.forSuite()

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
