import { hash } from 'node:crypto'
import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { chromiumPath, findBarriers, launchBrowser, NO_BROWSER, openPage } from '../../support/browser.ts'
import { see } from '../../support/debug-ui.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'

const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'UiApiAdapter']
const KEYS = `keys:
  - { name: eve, digest: "sha256:${hash('sha256', 'key-of-eve')}", scopes: [run, approve, debug] }
  - { name: ci, digest: "sha256:${hash('sha256', 'key-of-ci')}", scopes: [run] }
`

describe('the token of the debug UI', () => {
  let browser: Browser
  before(async function () {
    if (!chromiumPath) {
      console.log(`      ${NO_BROWSER}`)
      this.skip()
    }
    browser = await launchBrowser(['agents.test'])
  })
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close()
    await closeServers()
  })
  after(() => browser?.close())

  async function serve(options: Partial<ServerOptions>) {
    const server = await makeServer({ adapters: ADAPTERS, debug: true, ...options }, { 'keys.yml': KEYS })
    return { ...server, url: await server.listen() }
  }

  const open = async (url: string): Promise<Page> => (await openPage(browser, url, { colorScheme: 'light' })).page
  const field = (page: Page) => page.getByLabel('Token of the debug UI')

  it('is all that the page asks for, and shows, without one', async () => {
    const { url } = await serve({ uiToken: 'open sesame'.replace(' ', '-') })
    const page = await open(url)
    await field(page).waitFor()
    expect(await page.locator('input, button, a, nav').count()).to.equal(2)
    expect(await page.locator('body').innerText()).to.match(/--ui-token.*scope debug/)
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 800 })
      expect(await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')).to.equal(false)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        expect(await findBarriers(page), `${width} ${colorScheme}`).to.deep.equal([])
      }
    }
    await field(page).fill('wrong')
    await page.keyboard.press('Enter')
    await see(page, 'Invalid API key.')
    await field(page).fill('open-sesame')
    await page.keyboard.press('Enter')
    await see(page, 'Says it again')
    await page.reload()
    await see(page, 'Says it again')
    expect(await page.context().cookies()).to.deep.equal([])
  })

  it('comes with the address, which then does not show it, and opens the live stream', async () => {
    const { url, app } = await serve({ uiToken: 'a+b/c' })
    const page = await open(`${url}/#token=${encodeURIComponent('a+b/c')}`)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await see(page, 'Says it again')
    expect(page.url()).to.equal(`${url}/`)
    await page.goto(`${url}/#/runs`)
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    await app.inject({ method: 'POST', url: '/compat/chat/completions', payload: chat('echo', 'seen live') })
    await see(page, 'seen live')
    expect(asked.filter((address) => address.includes('token') || address.includes('a%2Bb'))).to.deep.equal([])
  })

  it('may be a key with the scope debug, which is then the key of the responses adapter, too', async () => {
    const { url } = await serve({ keys: 'keys.yml' })
    const page = await open(`${url}/#token=key-of-ci`)
    await see(page, "The key 'ci' lacks the scope 'debug'.")
    await field(page).fill('key-of-eve')
    await page.keyboard.press('Enter')
    await see(page, 'Says it again')
    await page.goto(`${url}/#/play/echo`)
    await page.getByRole('textbox', { name: /^Message/ }).fill('asked by eve')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Retry' }).waitFor()
  })

  it('is not asked for without a file of keys and --ui-token', async () => {
    const { url } = await serve({})
    const page = await open(url)
    await see(page, 'Says it again')
  })

  it('is not needed to learn why a name shows no contents', async () => {
    const { url } = await serve({ host: '0.0.0.0' })
    const page = await open(url.replace(/\/\/[^:]+/, '//agents.test'))
    await see(page, '--allowed-host agents.test')
    expect(await page.locator('input, button, a, nav').count()).to.equal(0)
  })
})
