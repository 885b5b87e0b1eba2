// CopilotKit in Chromium, straight from the browser and through its runtime: a tool of the page, an interrupt over kill -9, an abort; a foreign page decides nothing.
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'
import type { Browser, Page } from 'playwright-core'
import { chromiumPath, launchBrowser, NO_BROWSER } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { modelAgent } from '../support/model-agent.ts'
import { killRunning, type RunningCli, startCli } from '../support/run-cli.ts'
import { makeSharedProject, removeFolder, type TempProject } from '../support/temp-project.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PACKAGES = [
  'node@22',
  '@copilotkit/react-core@1.74',
  '@copilotkit/runtime@1.75',
  '@ag-ui/client@0.0.59',
  'react@19',
  'react-dom@19',
]
const FONTS = ['woff2', 'woff', 'ttf'].map((ending) => `--loader:.${ending}=empty`)

/** Its model calls the tools that the last message names, and tells their outputs; `wait` waits for the abort. */
const AGENT = modelAgent(
  'desk',
  `    const last = messages.findLastIndex(({ role }) => role === 'user')
    const words = messages[last].content.split(' ')
    const outputs = messages.slice(last).filter(({ role }) => role === 'tool').map(({ content }) => content)
    const calls = outputs.length > 0 ? [] : tools.filter(({ name }) => words.includes(name))
    if (words.includes('wait')) {
      yield { type: 'text', text: 'Begun.' }
      await new Promise((_, reject) => run.signal.addEventListener('abort', () => (console.log('aborted'), reject(run.signal.reason))))
    }
    if (calls.length === 0) yield { type: 'text', text: outputs.join() || 'Heard: ' + words.join(' ') }
    for (const { name } of calls) yield { type: 'tool_call', call: { id: 'call_' + messages.length, name, arguments: {} } }
    yield { type: 'finish', reason: calls.length > 0 ? 'tool_calls' : 'stop' }`,
)
const FILES = {
  ...AGENT,
  'agents/desk.yml': `${AGENT['agents/desk.yml']}\n  - { id: till, module: till }`,
  'modules/till.ts': `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Till', provides: [ToolProvider], create: () => ({
  listTools: () => [{ name: 'pay', description: 'Pays.', parameters: { type: 'object' } }],
  needsApproval: () => true,
  executeTool: async () => ({ text: 'Paid.' }) }) })`,
}

describe('CopilotKit', () => {
  let dir: string
  let project: TempProject
  let port: number
  let server: RunningCli
  let pages: ReturnType<typeof execa>
  let origin: string
  let browser: Browser

  before(async function () {
    this.timeout(600_000)
    dir = await mkdtemp(join(tmpdir(), 'agent-host-copilotkit-'))
    const obstacle = chromiumPath ? await install() : NO_BROWSER
    if (obstacle) {
      console.log(`skipped: ${obstacle}`)
      return this.skip()
    }
    project = await makeSharedProject(FILES)
    await mkdir(project.path('node_modules/@agent-host'), { recursive: true })
    await symlink(join(ROOT, 'packages/ag-ui'), project.path('node_modules/@agent-host/ag-ui'))
    port = await freePort()
    await startPages()
    await start()
    browser = await launchBrowser()
  })
  after(async () => {
    await browser?.close()
    pages?.kill()
    await pages?.catch(() => {})
    killRunning()
    if (project) await removeFolder(project.dir)
    await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  })

  /** Installs CopilotKit, and builds the page. @returns why that is not possible */
  async function install(): Promise<string | undefined> {
    await cp(join(ROOT, 'test/support/clients/copilotkit'), dir, { recursive: true })
    await writeFile(join(dir, 'package.json'), '{ "private": true, "type": "module" }')
    const settings = { cwd: dir, reject: false } as const
    const { exitCode, stderr } = await execa('npm', ['install', '--no-fund', '--no-audit', ...PACKAGES], settings)
    if (exitCode !== 0) return `CopilotKit cannot be installed: ${stderr.trim().split('\n').at(-1)}`
    const options = ['--bundle', '--format=esm', '--jsx=automatic', '--define:process.env.NODE_ENV="production"']
    const esbuild = join(ROOT, 'node_modules/.bin/esbuild')
    await execa(esbuild, ['page.jsx', ...options, ...FONTS, '--outfile=page.js', '--log-level=error'], { cwd: dir })
  }

  async function startPages(): Promise<void> {
    const env = { COPILOTKIT_TELEMETRY_DISABLED: 'true', DO_NOT_TRACK: '1' }
    const node = join(dir, 'node_modules/.bin/node')
    pages = execa(node, ['server.mjs', agentUrl()], { cwd: dir, env })
    pages.stderr?.on('data', (chunk) => process.stderr.write(chunk))
    origin = String(await new Promise((resolve) => pages.stdout?.once('data', resolve))).trim()
  }

  const agentUrl = () => `http://127.0.0.1:${port}/ag-ui/desk`

  async function start(): Promise<void> {
    const args = ['--adapter', '@agent-host/ag-ui', '--port', String(port), '--trusted-origin', origin]
    server = startCli(['serve', ...args], { cwd: project.dir })
    await server.printed(/listening at/)
  }

  async function open(address: string): Promise<Page> {
    const page = await browser.newPage({ timezoneId: 'America/Lima' })
    await page.goto(address)
    return page
  }

  async function say(page: Page, text: string): Promise<void> {
    const box = page.getByTestId('copilot-chat-textarea')
    await box.fill(text)
    await box.press('Enter')
  }

  const WAYS: readonly (readonly [name: string, path: () => string])[] = [
    ['straight from the browser', () => `?agent=${agentUrl()}`],
    ['through its runtime', () => ''],
  ]
  for (const [name, path] of WAYS)
    describe(name, () => {
      let page: Page
      beforeEach(async () => {
        page = await open(`${origin}/${path()}`)
      })
      afterEach(() => page.close())

      it('runs a tool of the page, turn after turn', async () => {
        await say(page, 'my location')
        await page.getByText('America/Lima').waitFor()
        await say(page, 'and thanks')
        await page.getByText('Heard: and thanks').waitFor()
      }).timeout(120_000)

      it('answers an interrupt after kill -9', async () => {
        await say(page, 'pay it')
        const button = page.getByRole('button', { name: 'Approve: May pay be called?' })
        await button.waitFor()
        await server.stop('SIGKILL')
        await start()
        await button.click()
        await page.getByText('Paid.').waitFor()
      }).timeout(120_000)

      it('aborts a run, and goes on', async () => {
        await say(page, 'please wait')
        await page.getByText('Begun.').waitFor()
        const before = server.output().length
        await page.getByTestId('copilot-send-button').click()
        await eventually(() => expect(server.output().slice(before)).to.contain('aborted'))
        await say(page, 'go on')
        await page.getByText('Heard: go on').waitFor()
      }).timeout(120_000)
    })

  it('straight from a page that is not trusted, asks, and decides nothing', async () => {
    const page = await open(`${origin.replace('127.0.0.1', 'localhost')}/?agent=${agentUrl()}`)
    await say(page, 'pay it')
    const refused = page.waitForResponse((response) => response.status() === 403)
    await page.getByRole('button', { name: 'Approve: May pay be called?' }).click()
    expect(await (await refused).json()).to.include({ type: 'RUN_ERROR', code: 'ORIGIN_FORBIDDEN' })
    expect(await page.getByText('Paid.').count()).to.equal(0)
    await page.close()
  }).timeout(120_000)
})
