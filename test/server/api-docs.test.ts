import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { chromiumPath, launchBrowser, openPage } from '../support/browser.ts'
import { closeServers, makeServer } from '../support/server.ts'

const ALL = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter', 'UiApiAdapter']

describe('GET /docs', () => {
  let browser: Browser | undefined

  afterEach(closeServers)
  after(() => browser?.close())

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`shows the routes in a browser, without other hosts or policy violations: ${colorScheme}`, async function () {
      if (!chromiumPath) return this.skip()
      browser ??= await launchBrowser()
      const { listen } = await makeServer({ adapters: ALL, development: true })
      const { page, complaints } = await openPage(browser, `${await listen()}/docs`, { colorScheme })
      await page.getByText('Create a chat completion').first().click()
      await page.getByText('The completion, or its chunks.').first().waitFor()
      const background = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      expect(background).to.equal(colorScheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(22, 24, 29)')
      if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/docs-${colorScheme}.png` })
      expect(complaints).to.deep.equal([])
    })
  }

  it('loads nothing but its own files', async () => {
    const { app } = await makeServer({ development: true })
    const { headers, statusCode } = await app.inject('/docs')
    expect(statusCode).to.equal(200)
    expect(headers['content-security-policy']).to.include("default-src 'none'; script-src 'self';")
    expect((await app.inject('/docs/explorer.js')).headers['content-encoding']).to.equal('gzip')
  })

  it('is served only in development', async () => {
    const { app } = await makeServer()
    expect((await app.inject('/docs')).statusCode).to.equal(404)
  })
})
