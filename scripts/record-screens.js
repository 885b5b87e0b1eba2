// Writes docs/images/<screen>-light.png and -dark.png: screens of the debug UI, taken from a server that runs here. After `npm run build`;
// needs Chromium.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const root = fileURLToPath(new URL('..', import.meta.url))
const command = join(root, 'bin/run.js')
const images = join(root, 'docs/images')
/** Time that a screen gets to draw itself. */
const SETTLE_MS = 1000
const folder = mkdtempSync(join(tmpdir(), 'agent-host-screens-'))
const project = join(folder, 'shop')

const REFUNDS = `import { defineTool, Type } from 'agent-host'

export const refund = defineTool({
  description: 'Refunds an order',
  parameters: Type.Object({ order: Type.Integer(), euros: Type.Number() }),
  needsApproval: true,
  execute: ({ order, euros }) => \`Refunded \${euros} euros for order \${order}.\`,
})
`
const SUPPORT = `id: support
description: Refunds orders, once a person agrees
modules:
  - { id: llm, module: llm/auto }
  - { id: tools, module: tools/local, config: { files: [tools/refunds.ts] } }
  - { id: orchestrator, module: orchestrator/tool-loop }
`

spawnSync(process.execPath, [command, 'init', project, '--yes', '--template', 'tools'], { stdio: 'inherit' })
writeFileSync(join(project, 'tools/refunds.ts'), REFUNDS)
writeFileSync(join(project, 'agents/support.yml'), SUPPORT)
const server = spawn(process.execPath, [command, 'dev', '--port', '0'], {
  cwd: project,
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const url = await addressOf(server)
  await ask(url, 'example', 'What time is it in Tokyo?')
  await ask(url, 'support', 'Refund order 4711, 20 euros')
  const run = await findRun(url, 'example')
  for (const theme of ['light', 'dark']) await record(url, theme, run)
} finally {
  server.kill('SIGTERM')
  await new Promise((resolve) => server.once('exit', resolve))
  rmSync(folder, { recursive: true, force: true })
}

async function addressOf({ stdout }) {
  let text = ''
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    text += chunk
    const address = /ready at (http:\S+)/.exec(text)?.[1]
    if (address) return address
  }
  throw new Error('The server ended before it was ready.')
}

/** Asks through the responses API, which also keeps what waits for an approval. */
async function ask(url, model, input) {
  const response = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, input }),
  })
  if (!response.ok) throw new Error(`${model} did not answer: ${await response.text()}`)
  await response.text()
}

async function findRun(url, agent) {
  const response = await fetch(`${url}/api/ui/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ runs(first: 20) { runs { run_id agent_id } } }' }),
  })
  const { data } = await response.json()
  return data.runs.runs.find(({ agent_id }) => agent_id === agent).run_id
}

async function record(url, theme, run) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, colorScheme: theme })
    for (const [name, address] of [
      ['run', `#/runs/${run}?view=sequence`],
      ['agent', '#/agents/example'],
      ['approvals', '#/approvals'],
    ]) {
      await page.goto(`${url}/${address}`)
      // Only the address behind # changes: the page is the same one.
      await page.reload()
      await page.waitForTimeout(SETTLE_MS)
      await page.screenshot({ path: join(images, `${name}-${theme}.png`) })
    }
  } finally {
    await browser.close()
  }
}
