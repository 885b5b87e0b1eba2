import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** The shell without windows comes first: it takes half the CPU time. */
const CANDIDATES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
]

/** The browser of this machine; `CHROMIUM_PATH` names another. Undefined where there is none. */
export const chromiumPath = [process.env.CHROMIUM_PATH, ...CANDIDATES].find((path) => path && existsSync(path))

/** Why tests of the page are skipped. */
export const NO_BROWSER = 'no Chromium was found: install it, or name it in CHROMIUM_PATH'

/** @param names host names that the browser takes for this machine */
export function launchBrowser(names: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath ?? '',
    args: [
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      ...(names.length > 0 ? [`--host-resolver-rules=${names.map((name) => `MAP ${name} 127.0.0.1`).join(', ')}`] : []),
    ],
  })
}

/** A page, and what it should not do. */
export interface WatchedPage {
  readonly page: Page
  /** Errors of the console, exceptions, dialogs, and requests to other hosts. */
  readonly complaints: string[]
}

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  })
  const page = await context.newPage()
  const complaints: string[] = []
  const { host } = new URL(url)
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`))
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    const asked = request.url()
    if (!/^(data|blob):/.test(asked) && new URL(asked).host !== host) complaints.push(`request: ${asked}`)
  })
  await page.goto(url)
  return { page, complaints }
}

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Without a path to each of the thousands of elements that are as they should be. */
const ONLY_VIOLATIONS = { resultTypes: ['violations'], selectors: false }

// Written as texts, for the browser: the types of a page are not those of this project.
const runAxe = (options: object) => `axe.run(${JSON.stringify(options)}).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 160))))`
const IS_TOO_WIDE = `((main) => document.documentElement.scrollWidth > innerWidth || main.scrollWidth > main.clientWidth)(
  document.querySelector('main'))`

/** What axe finds wrong with the page as it is: `<rule>: <element>`. @param options of `axe.run` */
export async function findBarriers(page: Page, options: object = {}): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(await readFile(axePath, 'utf8'))
  return page.evaluate<string[]>(runAxe({ ...ONLY_VIOLATIONS, ...options }))
}

/** Whether something is wider than the page. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate<boolean>(IS_TOO_WIDE)
}

const CONTROLS = '.button, .icon-button, .pill, .link, .segmented button, nav a, summary, select, textarea, [role=tab]'

/** Names of the controls that are too low for a finger: less than 40 pixels. Rows of trees and lists are not among them. */
export function findLowControls(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll(${JSON.stringify(CONTROLS)})]
      .filter((each) => each.checkVisibility() && each.getBoundingClientRect().height < 39.5)
      .map((each) => (each.ariaLabel || each.textContent) + ': ' + each.getBoundingClientRect().height)`,
  )
}

/** Upper edges of the elements of a selector at one moment, in their order. */
export function topsOf(page: Page, selector: string): Promise<number[]> {
  return page.evaluate<number[]>(
    `[...document.querySelectorAll(${JSON.stringify(selector)})].map((each) => each.getBoundingClientRect().top)`,
  )
}

/** Permissions of a page whose clipboard is read. */
export const CLIPBOARD = ['clipboard-read', 'clipboard-write']

export function readClipboard(page: Page): Promise<string> {
  return page.evaluate<string>('navigator.clipboard.readText()')
}
