// Writes docs/images/first-minute.svg: the first minute with agent-host, as a terminal that plays by itself. What it shows is
// the output of the commands, run each time. After `npm run build`.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const command = join(root, 'bin/run.js')
const folder = mkdtempSync(join(tmpdir(), 'agent-host-record-'))
const project = join(folder, 'myproj')
const QUESTION = 'What time is it in Tokyo?'

const created = run(['init', 'myproj', '--yes'], folder)
const server = spawn(process.execPath, [command, 'dev'], { cwd: project, stdio: ['ignore', 'pipe', 'ignore'] })
const banner = await untilReady(server)
const answer = run(['chat', 'example', '--once', QUESTION], project)
server.kill('SIGTERM')
await new Promise((resolve) => server.once('exit', resolve))
rmSync(folder, { recursive: true, force: true })

const scene = [
  ...typed('agent-host init myproj && cd myproj'),
  ...shown(created.split('\n').slice(0, 1)),
  ...typed('agent-host dev'),
  ...shown(banner),
  ...typed(`agent-host chat example --once "${QUESTION}"`),
  ...shown(answer.split('\n').slice(0, 1)),
]
writeFileSync(join(root, 'docs/images/first-minute.svg'), toSvg(scene))

function run(args, cwd) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [command, ...args], { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`agent-host ${args.join(' ')} failed: ${stderr}`)
  return stdout.trim()
}

/** The lines that list the adapters and agents of the server. */
async function untilReady({ stdout }) {
  let text = ''
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    text += chunk
    const ready = /agent-host is ready[\s\S]*?\n\n[^\n]*\n/.exec(text)
    if (ready) return ready[0].trimEnd().split('\n')
  }
  throw new Error('The server ended before it was ready.')
}

/** A command, then the pause in which it is read. */
function typed(text) {
  return [
    { text: `$ ${text}`, kind: 'command', waitMs: 700 },
    { text: undefined, waitMs: 500 },
  ]
}

function shown(lines) {
  return [...lines.map((text) => ({ text, kind: 'output', waitMs: 120 })), { text: '', kind: 'output', waitMs: 600 }]
}

/** Lines that appear one after the other, in a loop; with reduced motion all are visible. */
function toSvg(steps) {
  const LINE = 20
  const END_MS = 5000
  const lines = steps.filter(({ text }) => text !== undefined)
  const height = lines.length * LINE + 56
  const totalMs = steps.reduce((sum, { waitMs }) => sum + waitMs, END_MS)
  let atMs = 0
  let y = 52
  const texts = []
  for (const { text, kind, waitMs } of steps) {
    atMs += waitMs
    if (text === undefined) continue
    const from = ((atMs / totalMs) * 100).toFixed(2)
    const name = `l${texts.length}`
    texts.push({ text, kind, y, name, keyframes: `@keyframes ${name}{0%,${from}%{opacity:0}${from}%,100%{opacity:1}}` })
    y += LINE
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 ${height}" role="img" aria-label="agent-host init, dev and chat in a terminal">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre}
.command{fill:#f4f4f5}.output{fill:#a1a1aa}
${texts.map(({ keyframes }) => keyframes).join('\n')}
@media (prefers-reduced-motion:no-preference){
${texts.map(({ name }) => `.${name}{animation:${name} ${totalMs}ms step-end infinite}`).join('\n')}
}
</style>
<rect width="760" height="${height}" rx="10" fill="#18181b"/>
<circle cx="20" cy="20" r="6" fill="#3f3f46"/><circle cx="40" cy="20" r="6" fill="#3f3f46"/><circle cx="60" cy="20" r="6" fill="#3f3f46"/>
${texts.map(({ text, kind, y: line, name }) => `<text class="${kind} ${name}" x="20" y="${line}">${escape(text)}</text>`).join('\n')}
</svg>
`
}

function escape(text) {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}
