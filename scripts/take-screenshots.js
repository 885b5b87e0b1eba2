// Takes pictures of every screen of the debug UI, with the agents of scripts/showcase and some forty runs: light and dark, wide
// and narrow. `node scripts/take-screenshots.js <folder>`; `--docs` takes the one of docs/images alone. After `npm run build`.
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { buildServer } from '../dist/index.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const [target = '--docs'] = process.argv.slice(2)
const isForDocs = target === '--docs'
const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } }
const QUESTIONS = {
  support: ['What is order A1 doing?', 'Is the rain jacket in stock?', 'Where is my parcel?', 'May I send it back?'],
  'support-small': ['What is order A1 doing?', 'Hello'],
  librarian: ['The lamp in the hall is red', 'The long cable is in the left drawer', 'Which lamp is red?'],
  'desk/sales': ['How much is a jacket?', 'Do you ship to Peru?'],
  'desk/billing': ['I need an invoice'],
  weather: ['Will it rain in Lima?', 'And tomorrow?'],
  report: ['Write about the sea'],
  eye: ['What is this?'],
  crawler: ['12 pages', '300 pages'],
}
const ROUNDS = 2

const project = mkdtempSync(join(tmpdir(), 'agent-host-showcase-'))
cpSync(join(root, 'scripts/showcase'), project, { recursive: true })
const server = await buildServer({
  projectDir: project,
  adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter'],
  debug: true,
  development: true,
  port: 0,
  logLevel: 'silent',
  drainTimeout: 0,
})
const url = await server.listen()
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox', '--disable-gpu'] : ['--disable-gpu'],
})
try {
  const runs = await fill()
  if (isForDocs) await takeForDocs()
  else await takeAll(runs, target)
} finally {
  await browser.close()
  await server.close()
  rmSync(project, { recursive: true, force: true })
}

/** Asks every agent, and leaves a call to approve, a run under way and a broken file. */
async function fill() {
  const runs = {}
  for (let round = 0; round < ROUNDS; round++) {
    for (const [model, questions] of Object.entries(QUESTIONS)) {
      for (const input of questions) runs[model] = await ask(model, input)
    }
  }
  runs.waiting = await ask('careful-shop', 'Pay Ann 40 for the rain jacket')
  await ask('careful-shop', 'Pay Ann once more')
  cpSync(join(project, 'broken.yml'), join(project, 'agents/planner.yml'))
  await server.agents.scan()
  return runs
}

/** @returns the id of the run */
async function ask(model, input) {
  const response = await fetch(`${url}/compat/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, input }),
  })
  const { id = '' } = await response.json()
  return id.replace('resp_', '')
}

async function takeAll(runs, folder) {
  const screens = {
    agents: '#/',
    agent: '#/agents/support',
    module: '#/agents/support?module=shop',
    memory: '#/agents/librarian?module=memory',
    conversation: '#/agents/librarian?module=history',
    wiring: '#/agents/report',
    definition: '#/agents/support?view=definition',
    history: '#/agents/support?view=history',
    'play-first': '#/play/support',
    'play-eye': '#/play/eye',
    runs: '#/runs',
    'runs-filtered': '#/runs?agent=support&status=completed&range=24h',
    'runs-none': '#/runs?agent=support&status=interrupted',
    run: `#/runs/${runs.support}`,
    'run-failed': `#/runs/${await failedRun()}`,
    'run-waiting': `#/runs/${runs.waiting}`,
    'run-long': `#/runs/${runs.crawler}`,
    'run-sequence': `#/runs/${runs.support}?view=sequence`,
    'run-conversation': `#/runs/${runs.support}?view=conversation`,
    'run-events': `#/runs/${runs.support}?view=events`,
    approvals: '#/approvals',
    metrics: '#/metrics',
    'metrics-days': '#/metrics?range=7d',
    'not-found': '#/nowhere',
  }
  mkdirSync(folder, { recursive: true })
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await openPage(viewport, colorScheme)
      const take = (name) => page.screenshot({ path: join(folder, `${name}-${size}-${colorScheme}.png`) })
      for (const [name, hash] of Object.entries(screens)) {
        await visit(page, hash)
        await take(name)
      }
      await visit(page, `#/runs/${runs.support}`)
      await page.getByRole('treeitem').filter({ hasText: 'gpt-4.1' }).first().click()
      await settle(page)
      await take('run-model')
      await converse(page, '#/play/support')
      await take('play')
      await converse(page, '#/play/support?beside=support-small')
      await take('play-compare')
      await converse(page, '#/play/careful-shop')
      await take('play-approval')
      await page.keyboard.press('Escape')
      await page.locator('h1').first().click()
      await page.keyboard.press('Control+k')
      await settle(page)
      await take('menu')
      await page.context().close()
    }
  }
}

async function takeForDocs() {
  const page = await openPage(SIZES.wide, 'light')
  await converse(page, '#/play/support?beside=support-small')
  await page.screenshot({ path: join(root, 'docs/images/debug-ui-compare.png') })
}

async function openPage(viewport, colorScheme) {
  const context = await browser.newContext({ viewport, colorScheme })
  const page = await context.newPage()
  page.on('console', (message) => message.type() === 'error' && console.log(message.text()))
  page.on('pageerror', (error) => console.log(error))
  await page.goto(url)
  return page
}

async function visit(page, hash) {
  await page.goto(`${url}/${hash}`)
  await page.locator('main h1').first().waitFor()
  await settle(page)
}

async function converse(page, hash) {
  await visit(page, hash)
  await page.getByRole('textbox', { name: /^Message to/ }).fill('What is order A1 doing?')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('link', { name: 'See the run' }).first().waitFor()
  await page.getByRole('button', { name: 'Send' }).waitFor()
  await page.waitForTimeout(1200)
}

/** Waits until nothing is asked for any more, but for the live events. */
async function settle(page) {
  await page.waitForTimeout(350)
}

async function failedRun() {
  const query = '{ runs(filter: { status: "failed" }, first: 1) { runs { run_id } } }'
  const response = await fetch(`${url}/api/ui/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  return (await response.json()).data.runs.runs[0].run_id
}
