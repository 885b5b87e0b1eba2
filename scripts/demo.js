// Creates and serves a project with the real command line, and asks its example agent through the public API.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const QUESTION = 'What time is it in Tokyo?'
const command = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const { values } = parseArgs({
  options: {
    once: { type: 'boolean' },
    build: { type: 'boolean' },
    port: { type: 'string', default: process.env.AGENT_HOST_PORT ?? '9001' },
  },
})

if (values.build) await build()

const folder = mkdtempSync(join(tmpdir(), 'agent-host-demo-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const project = join(folder, 'myproj')
// Runs the next steps that init prints.
await succeed(spawn(process.execPath, [command, 'init', project, '--yes'], { stdio: ['ignore', 'ignore', 'inherit'] }))
console.log(`Created a project in ${project}, for as long as the demo runs.`)
const server = spawn(process.execPath, [command, 'dev', '--port', values.port], {
  cwd: project,
  stdio: ['ignore', 'pipe', 'inherit'],
})
process.on('exit', () => server.kill())
process.on('SIGINT', () => server.kill('SIGINT'))
process.on('SIGTERM', () => server.kill('SIGTERM'))
server.on('exit', (code) => process.exit(code ?? 1))

const url = await listen(server)
console.log(`\nQuestion: ${QUESTION}`)
await ask(url)
if (values.once) server.kill('SIGTERM')
else
  console.log(
    `\nStill serving at ${url}: open it to see every step. Edit ${join(project, 'agents', 'example.yml')} and ask again. Ctrl-C stops the demo.`,
  )

/** Builds agent-host. Until that has succeeded, the build before is kept aside: a demo that is stopped leaves it as it was. */
async function build() {
  console.log('Building agent-host, which takes a minute ...')
  const [dist, before] = ['../dist', '../dist-before'].map((folder) => fileURLToPath(new URL(folder, import.meta.url)))
  if (existsSync(dist) && !existsSync(before)) renameSync(dist, before)
  const restore = () => {
    rmSync(dist, { recursive: true, force: true })
    if (existsSync(before)) renameSync(before, dist)
  }
  const stop = () => process.exit(130)
  process.on('exit', restore)
  process.on('SIGINT', stop)
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  await succeed(
    spawn(npm, ['run', 'build', '--silent'], { stdio: ['ignore', 'ignore', 'inherit'], shell: npm !== 'npm' }),
  )
  process.off('exit', restore)
  process.off('SIGINT', stop)
  rmSync(before, { recursive: true, force: true })
}

/** Waits for the address; shows the calls of tools from the log from then on. */
function listen(child) {
  return new Promise((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const address = /ready at (http:\S+)/.exec(line)?.[1]
      if (address) resolve(address)
      const message = line.startsWith('{') ? JSON.parse(line).msg : ''
      const call = /^example {2}(\w+\(.*)/.exec(message)?.[1]
      if (call) console.log(`Tool call: ${call}`)
    })
  })
}

async function ask(url) {
  const response = await fetch(`${url}/compat/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'example', stream: true, messages: [{ role: 'user', content: QUESTION }] }),
  })
  let answer = ''
  for await (const line of createInterface({ input: Readable.fromWeb(response.body) })) {
    if (!line.startsWith('data: {')) continue
    const { choices, error } = JSON.parse(line.slice('data: '.length))
    if (error) throw new Error(error.message)
    answer += choices[0]?.delta.content ?? ''
  }
  // The log is another pipe, and may come a moment later.
  await new Promise((resume) => setTimeout(resume, 100))
  console.log(`Answer: ${answer}`)
}

function succeed(child) {
  return new Promise((resolve) => {
    child.on('exit', (code) => (code === 0 ? resolve() : process.exit(code ?? 1)))
  })
}
