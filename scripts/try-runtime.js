// Tries Bun or Deno in the place of Node with this build: `serve`, a chat completion, a stored response that is read again, and the end by
// SIGTERM. It adds nothing to the project; `npx` fetches the runtime. `node scripts/try-runtime.js <bun|deno> [command]`
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const LIMIT_MS = 60_000
const RUNTIMES = {
  bun: ['npx', '--yes', 'bun@1.4'],
  deno: ['npx', '--yes', 'deno@2.9', 'run', '--allow-all'],
}
const [name, ...chosen] = process.argv.slice(2)
if (!(name in RUNTIMES)) throw new Error(`Choose one of: ${Object.keys(RUNTIMES).join(', ')}.`)
const [command, ...prefix] = chosen.length > 0 ? chosen : RUNTIMES[name]

const dir = mkdtempSync(join(tmpdir(), 'agent-host-runtime-'))
mkdirSync(join(dir, 'agents'))
writeFileSync(join(dir, 'package.json'), '{}')
writeFileSync(join(dir, 'agents/echo.yml'), 'id: echo\nmodules: [{ id: main, module: echo }]\n')
const port = await freePort()
const run = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const adapters = 'ChatCompatApiAdapter,ResponsesCompatApiAdapter'
const child = spawn(command, [...prefix, run, 'serve', '--adapter', adapters, '--port', `${port}`], {
  cwd: dir,
  stdio: ['ignore', 'inherit', 'inherit'],
})
const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)))
const timer = globalThis.setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
try {
  await untilReady()
  const answer = await post('/v1/chat/completions', { model: 'echo', messages: [{ role: 'user', content: 'hello' }] })
  check(answer.choices[0].message.content, 'hello')
  const { id } = await post('/v1/responses', { model: 'echo', input: 'stored' })
  const stored = await (await fetch(`http://127.0.0.1:${port}/v1/responses/${id}`)).json()
  check(stored.output[0].content[0].text, 'stored')
  child.kill('SIGTERM')
  check(await ended, 0)
  console.log(`${name} serves chat and stored responses, and ends.`)
} finally {
  child.kill('SIGKILL')
  clearTimeout(timer)
  rmSync(dir, { recursive: true, force: true })
}

async function untilReady() {
  for (let isEnded = false; !isEnded; isEnded = await Promise.race([ended.then(() => true), setTimeout(200, false)])) {
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    if (ready?.ok) return
  }
  throw new Error(`${name} ended before it served.`)
}

async function post(path, body) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return response.json()
}

function check(value, expected) {
  if (value !== expected) throw new Error(`Expected ${expected}, not ${value}.`)
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
