import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { chromiumPath, findBarriers, isTooWide, launchBrowser, openPage } from '../support/browser.ts'
import { describeWith } from '../support/describe-with.ts'
import { freePort } from '../support/free-port.ts'
import { OAuthServer, signInAgent } from '../support/oauth-server.ts'
import { closeServers, makeServer } from '../support/server.ts'
import { keysFile } from '../support/tenant-visitor.ts'

const ADAPTERS = ['ResponsesCompatApiAdapter', 'UiApiAdapter']
const KEYS = keysFile([{ name: 'alice', tenant: 'acme', scopes: ['run', 'approve', 'debug'] }])

describeWith('Chromium', chromiumPath !== undefined, 'the page that ends a sign-in', () => {
  let browser: Browser
  let issues: OAuthServer
  before(async () => {
    browser = await launchBrowser()
  })
  beforeEach(async () => {
    issues = await OAuthServer.start()
  })
  afterEach(async () => {
    await closeServers()
    await issues.close()
  })
  after(() => browser.close())

  async function open(options: object = {}, files: Readonly<Record<string, string>> = {}) {
    const port = await freePort()
    const shared = { adapters: ADAPTERS, port, development: true, debug: true, ...options }
    const { listen } = await makeServer(shared, { ...signInAgent(issues.url), ...files })
    return listen()
  }

  async function ask(url: string, headers: Record<string, string> = {}): Promise<string> {
    const body = JSON.stringify({ model: 'desk', input: 'sign_in_issues' })
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }
    await fetch(`${url}/compat/responses`, init)
    const reply = await fetch(`${url}/compat/approvals`, { headers })
    return ((await reply.json()) as { data: { url: string }[] }).data[0]?.url ?? ''
  }

  const title = (page: Page) => page.getByRole('status')

  it('is reached from the inbox, and lets the agent go on', async () => {
    const url = await open()
    await ask(url)
    const { page, complaints } = await openPage(browser, `${url}/#/approvals`)
    await page.getByRole('link', { name: "Sign in to 'issues' to go on", exact: true }).waitFor()
    expect(await findBarriers(page)).to.deep.equal([])
    const opening = page.waitForEvent('popup')
    await page.getByRole('link', { name: /^Open 127\.0\.0\.1:/ }).click()
    const popup = await opening
    await title(popup).getByText('Done').waitFor()
    expect(popup.url()).to.equal(`${url}/oauth/callback`)
    await page.getByRole('link', { name: "Sign in to 'issues'" }).waitFor({ state: 'hidden' })
    expect(complaints).to.deep.equal([])
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`says what happened, in any width, to everyone: ${colorScheme}`, async () => {
      const url = await open()
      const back = await issues.signIn(await ask(url))
      for (const [address, text] of [
        [back.href, 'Done'],
        [back.href, 'Give this to the agent'],
        [`${url}/oauth/callback`, 'Nothing to do here'],
      ] as const) {
        for (const width of [1440, 390]) {
          // The first visit spends the code.
          if (text === 'Done' && width === 390) continue
          const { page } = await openPage(browser, address, { colorScheme, viewport: { width, height: 800 } })
          await title(page).getByText(text).waitFor()
          expect(await findBarriers(page), text).to.deep.equal([])
          expect(await isTooWide(page), text).to.equal(false)
          if (process.env.SCREENSHOTS) {
            await page.screenshot({ path: `${process.env.SCREENSHOTS}/${text}-${colorScheme}-${width}.png` })
          }
          await page.context().close()
        }
      }
    })
  }

  it('asks for the key of a server that wants one', async () => {
    const url = await open({ keys: 'keys.yml' }, { 'keys.yml': KEYS })
    const back = await issues.signIn(await ask(url, { authorization: 'Bearer key-of-alice' }))
    const { page } = await openPage(browser, back.href)
    await title(page).getByText('This server needs a key').waitFor()
    expect(await findBarriers(page)).to.deep.equal([])
    await page.keyboard.type('wrong')
    await page.keyboard.press('Enter')
    await page.getByText('Invalid API key').waitFor()
    await page.getByLabel('Key of this server').fill('key-of-alice')
    await page.keyboard.press('Enter')
    await title(page).getByText('Done').waitFor()
    expect(page.url()).to.equal(`${url}/oauth/callback`)
  })
})
