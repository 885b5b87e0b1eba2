// Takes pictures of the debug UI, with the agents of scripts/showcase and some forty runs. After `npm run build`; needs Chromium.
// `node scripts/take-screenshots.js` writes those of docs/images; `node scripts/take-screenshots.js <folder> [screen ...]` every
// screen, or the named ones: light and dark, wide and narrow.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { buildServer } from '../dist/index.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const [folder, ...wanted] = process.argv.slice(2)
const SIZES = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } }
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
  front: ['Where is A1, and will it rain on it?'],
}
const ROUNDS = 2

const project = mkdtempSync(join(tmpdir(), 'agent-host-showcase-'))
cpSync(join(root, 'scripts/showcase'), project, { recursive: true })
const server = await buildServer({
  projectDir: project,
  adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter'],
  debug: true,
  development: true,
  record: 1,
  port: 0,
  logLevel: 'silent',
  drainTimeout: 0,
})
const url = await server.listen()
const browser = await chromium.launch({
  executablePath: [process.env.CHROMIUM_PATH, '/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(
    (path) => path && existsSync(path),
  ),
  args: process.getuid?.() === 0 ? ['--no-sandbox', '--disable-gpu'] : ['--disable-gpu'],
})
try {
  const runs = await fill()
  if (folder === undefined) await takeForDocs(runs)
  else await takeAll(runs)
} finally {
  await browser.close()
  await server.close()
  rmSync(project, { recursive: true, force: true })
}

/** Asks every agent, and leaves two versions of one, a call to approve and a broken file. */
async function fill() {
  const runs = {}
  for (let round = 0; round < ROUNDS; round++) {
    if (round > 0) await edit('support', 'Use the tools to', 'Always use the tools to')
    for (const [model, questions] of Object.entries(QUESTIONS)) {
      for (const input of questions) runs[model] = await ask(model, input)
    }
  }
  runs.waiting = await ask('careful-shop', 'Pay Ann 40 for the rain jacket')
  await ask('careful-shop', 'Pay Ann once more')
  runs.signIn = await ask('secretary', 'Am I free on Thursday?')
  cpSync(join(project, 'broken.yml'), join(project, 'agents/planner.yml'))
  await server.agents.scan()
  runs.failed = await failedRun()
  runs.rerun = await rerun(runs.support)
  return runs
}

async function edit(agent, before, after) {
  const path = join(project, `agents/${agent}.yml`)
  writeFileSync(path, readFileSync(path, 'utf8').replace(before, after))
  await server.agents.scan()
}

/** @returns the id of the run */
async function ask(model, input) {
  const response = await fetch(`${url}/compat/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, input, user: 'maria' }),
  })
  const { id = '' } = await response.json()
  return id.replace('resp_', '')
}

/** Address of each screen, and its steps before the screenshot. */
function screensOf(runs) {
  const press =
    (...keys) =>
    async (page) => {
      await page.locator('h1').first().click()
      for (const key of keys) await page.keyboard.press(key)
    }
  const click = (role, name) => (page) => page.getByRole(role, { name }).first().click()
  return {
    agents: ['#/'],
    menu: ['#/', press('Control+k')],
    keys: ['#/', press('?')],
    agent: ['#/agents/support'],
    module: ['#/agents/support?module=shop'],
    tool: ['#/agents/support?module=shop', (page) => page.getByText('find_order').first().click()],
    tools: ['#/agents/support?view=tools'],
    memory: ['#/agents/librarian?view=memory'],
    wiring: ['#/agents/report'],
    definition: ['#/agents/support?view=definition'],
    history: ['#/agents/support?view=history'],
    'play-first': ['#/play/support'],
    play: ['#/play/support', converse],
    'play-change': ['#/play/support', change],
    'play-upload': ['#/play/eye', attach],
    'play-compare': ['#/play/support?beside=support-small', converse],
    'play-approval': ['#/play/careful-shop', converse],
    runs: ['#/runs'],
    'runs-children': [
      '#/runs?agent=front',
      (page) =>
        page
          .getByRole('button', { name: /below it/ })
          .first()
          .click(),
    ],
    'runs-filtered': ['#/runs?agent=support&status=completed&range=24h'],
    'runs-none': ['#/runs?agent=support&status=interrupted'],
    'run-graph': [`#/runs/${runs.support}?view=graph`],
    run: [`#/runs/${runs.support}`],
    'run-model': [
      `#/runs/${runs.support}`,
      (page) =>
        page
          .getByRole('treeitem', { name: /gpt-4.1/ })
          .first()
          .click(),
    ],
    'run-tool': [
      `#/runs/${runs.support}`,
      (page) =>
        page
          .getByRole('treeitem', { name: /find_order/ })
          .first()
          .click(),
    ],
    'run-context': [
      `#/runs/${runs.support}`,
      async (page) => {
        await page
          .getByRole('treeitem', { name: /gpt-4.1/ })
          .last()
          .click()
        await page.getByRole('tab', { name: 'Context' }).click()
      },
    ],
    'run-children': [`#/runs/${runs.front}`],
    'run-children-graph': [`#/runs/${runs.front}?view=graph`],
    'run-failed': [`#/runs/${runs.failed}`],
    'run-waiting': [`#/runs/${runs.waiting}`],
    'run-sign-in': [`#/runs/${runs.signIn}`],
    'run-long': [`#/runs/${runs.crawler}`],
    'run-sequence': [`#/runs/${runs.support}?view=sequence`],
    'run-conversation': [`#/runs/${runs.support}?view=conversation`],
    'run-events': [`#/runs/${runs.support}?view=events`],
    'run-save': [`#/runs/${runs.failed}`, click('button', 'Save as test')],
    'run-rerun': [`#/runs/${runs.support}`, beginRerun],
    'runs-choose': ['#/runs', press('j', 'x', 'j', 'x')],
    'compare-runs': [`#/compare?left=${runs.support}&right=${runs.rerun}`],
    approvals: ['#/approvals'],
    'approvals-edit': ['#/approvals', click('button', /^Edit/)],
    evals: ['#/evals'],
    'evals-case': ['#/evals?case=jacket'],
    'play-case': ['#/play/support', badAnswer],
    metrics: ['#/metrics'],
    'metrics-days': ['#/metrics?range=7d'],
    'not-found': ['#/nowhere'],
    'server-gone': ['#/runs', loseServer],
  }
}

async function takeAll(runs) {
  const screens = Object.entries(screensOf(runs)).filter(([name]) => wanted.length === 0 || wanted.includes(name))
  mkdirSync(folder, { recursive: true })
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const theme of ['light', 'dark']) {
      for (const [name, screen] of screens)
        await take(join(folder, `${name}-${size}-${theme}.png`), viewport, theme, screen)
    }
  }
}

async function takeForDocs(runs) {
  const {
    agent,
    approvals,
    'evals-case': evals,
    'play-compare': compare,
    'compare-runs': compareRuns,
  } = screensOf(runs)
  const size = { width: 1280, height: 720 }
  const images = join(root, 'docs/images')
  for (const theme of ['light', 'dark']) {
    await take(join(images, `run-${theme}.png`), size, theme, [`#/runs/${runs.support}?view=sequence`])
    await take(join(images, `agent-${theme}.png`), size, theme, agent)
    await take(join(images, `approvals-${theme}.png`), size, theme, approvals)
    await take(join(images, `evals-${theme}.png`), size, theme, evals)
    await take(join(images, `compare-runs-${theme}.png`), size, theme, compareRuns)
  }
  await take(join(images, 'debug-ui-compare.png'), size, 'light', compare)
}

async function take(path, viewport, theme, [hash, act]) {
  const page = await openPage(viewport, theme)
  try {
    await page.goto(`${url}/${hash}`)
    await page.locator('main h1, main h2').first().waitFor()
    await settle(page)
    await act?.(page)
    if (act) await settle(page)
    await page.screenshot({ path })
  } catch (error) {
    console.log(`${path}: ${error.message}`)
  } finally {
    await page.context().close()
  }
}

async function openPage(viewport, colorScheme) {
  const context = await browser.newContext({ viewport, colorScheme })
  const page = await context.newPage()
  page.on('console', (message) => message.type() === 'error' && console.log(message.text()))
  page.on('pageerror', (error) => console.log(error))
  return page
}

/** Opens the form of a rerun, which in a narrow window no call is selected for. */
async function beginRerun(page) {
  const button = page.getByRole('button', { name: 'Rerun from here' })
  if (!(await button.isVisible())) {
    await page
      .getByRole('treeitem', { name: /gpt-4.1/ })
      .last()
      .click()
  }
  await button.click()
}

async function converse(page) {
  await page.getByRole('textbox', { name: /^Message to/ }).fill('What is order A1 doing?')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('link', { name: 'View the run' }).first().waitFor()
  await page.getByRole('button', { name: 'Send' }).waitFor()
  await page.waitForTimeout(1200)
}

/** Changes the prompt, and compares. */
async function change(page) {
  await converse(page)
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await page.getByLabel('system prompt').fill('You are a terse assistant. Answer in one sentence.')
  await page.getByText('edited').waitFor()
}

async function badAnswer(page) {
  await converse(page)
  await page.getByRole('button', { name: 'Bad answer: save as a case' }).click()
}

async function attach(page) {
  const files = [{ name: 'invoice.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7') }]
  await page.getByLabel('Files to attach').setInputFiles(files)
  await converse(page)
}

/** Cuts the page off, as if the server were down. */
async function loseServer(page) {
  await page.route('**/api/ui/live', (route) => route.abort())
  await page.reload()
  await page.getByText('No connection to the server.').waitFor()
}

/** Gives a screen the time to draw itself. */
async function settle(page) {
  await page.waitForTimeout(350)
}

/** Runs a run again from its last model call, with another answer. @returns the id of the rerun */
async function rerun(run) {
  const query = `{ run(run_id: "${run}") { events { events { event_type method_name call_id } } } }`
  const found = await post('/api/ui/graphql', { query })
  const { events } = found.data.run.events
  const { call_id } = events.findLast((event) => event.event_type === 'call' && event.method_name === 'generate')
  const result = 'Order **A1** was delivered on Monday.'
  return (await post(`/api/ui/runs/${run}/rerun`, { call_id, result })).run_id
}

async function post(path, body) {
  const headers = { 'content-type': 'application/json', origin: url }
  return (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json()
}

async function failedRun() {
  const query = '{ runs(filter: { status: "failed" }, first: 1) { runs { run_id } } }'
  return (await post('/api/ui/graphql', { query })).data.runs.runs[0].run_id
}
