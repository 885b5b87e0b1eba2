// Loads a server with a mixture of requests for some minutes, and prints how memory, connections and times change with every
// 10,000 requests: npm run soak -- --minutes 8. Exits with 1 where something grows or fails.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { WebSocket } from 'ws'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '8' }, clients: { type: 'string', default: '20' } },
})
const minutes = Number(values.minutes)
const clients = Number(values.clients)
const SAMPLE_MS = 1000
/** Number of samples of which the lowest counts: memory between two garbage collections is not growth. */
const WINDOW = 20
/** Caches fill and code is compiled at first: samples of this part do not count. */
const WARM_UP = 0.3
/** Largest growth with every 10,000 requests, above the noise of a garbage-collected heap. */
const BOUNDS = { rss_mib: 4, heap_mib: 2, descriptors: 1, p99_ms: 20 }

const folder = mkdtempSync(join(tmpdir(), 'agent-host-soak-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
mkdirSync(join(folder, 'agents'))
writeFileSync(
  join(folder, 'agents/echo.yml'),
  'id: echo\ndescription: Says it again\nconversation: true\nmodules: [{ id: main, module: echo }]\n',
)

const server = spawn(
  process.execPath,
  [fileURLToPath(new URL('../bin/run.js', import.meta.url)), 'serve', ...flags()],
  {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  },
)
process.on('exit', () => server.kill('SIGKILL'))
const url = await addressOf(server.stdout)

const counts = { requests: 0, failures: 0 }
let latencies = []
const endMs = Date.now() + minutes * 60_000
const samples = []
const sampling = setInterval(() => void sample(), SAMPLE_MS)
await Promise.all(Array.from({ length: clients }, load))
clearInterval(sampling)
await sample()
report()
server.kill('SIGTERM')

function flags() {
  const adapters = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter', 'UiApiAdapter']
  const options = [
    '--port',
    '0',
    '--log-level',
    'info',
    '--metrics',
    'true',
    '--debug-ui',
    'true',
    '--debug-max-mb',
    '8',
  ]
  return [...adapters.flatMap((name) => ['--adapter', name]), ...options]
}

function addressOf(output) {
  return new Promise((resolve) => {
    let text = ''
    output.setEncoding('utf8').on('data', (chunk) => {
      if (text.length > 10_000) return
      text += chunk
      const [, address] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(text) ?? []
      if (address) resolve(address)
    })
  })
}

async function load() {
  const chat = { model: 'echo', messages: [{ role: 'user', content: 'What does a soak prove?' }] }
  while (Date.now() < endMs) {
    await post('/compat/chat/completions', chat, 200)
    await post('/v1/chat/completions', { ...chat, stream: true }, 200)
    await post('/compat/chat/completions', { model: 'echo', messages: [] }, 400)
    await post(
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { message: 'x' } } },
      200,
    )
    const { id } = JSON.parse(await post('/compat/responses', { model: 'echo', input: 'Keep this.' }, 200))
    await send(`/compat/responses/${id}`, { method: 'DELETE' }, 200)
    await leave({ ...chat, stream: true })
    await converse()
    await respondInBackground()
    await respondOverSocket().catch(({ message }) => fail(`web socket: ${message}`))
  }
}

function fail(problem) {
  if (counts.failures++ < 5) console.error(problem)
}

async function converse() {
  const { id } = JSON.parse(await post('/v1/conversations', { items: [{ role: 'user', content: 'Begin.' }] }, 200))
  const said = JSON.parse(await post('/v1/responses', { model: 'echo', input: 'Go on.', conversation: id }, 200))
  await send(`/v1/conversations/${id}/items`, {}, 200)
  await send(`/v1/conversations/${id}`, { method: 'DELETE' }, 200)
  await send(`/v1/responses/${said.id}`, { method: 'DELETE' }, 200)
}

async function respondInBackground() {
  const body = { model: 'echo', input: 'Later.', background: true }
  const { id } = JSON.parse(await post('/compat/responses', body, 200))
  await send(`/compat/responses/${id}?stream=true`, {}, 200)
  await send(`/compat/responses/${id}`, { method: 'DELETE' }, 200)
}

/** An unstored response, and its continuation. */
async function respondOverSocket() {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`)
  await once(socket, 'open')
  let previous
  for (let turn = 0; turn < 2; turn++) {
    const body = { model: 'echo', input: 'Over a socket.', store: false, previous_response_id: previous }
    socket.send(JSON.stringify({ type: 'response.create', ...body }))
    previous = await untilCompleted(socket)
    counts.requests++
  }
  socket.close()
  await once(socket, 'close')
}

function untilCompleted(socket) {
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    const read = (data) => {
      const { type, response } = JSON.parse(data.toString())
      if (type !== 'response.completed' && type !== 'error') return
      if (type === 'error') fail(`web socket: ${data}`)
      socket.off('message', read)
      resolve(response?.id)
    }
    socket.on('message', read)
  })
}

function post(path, body, status) {
  return send(
    path,
    { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
    status,
  )
}

async function send(path, init, status) {
  const startedMs = performance.now()
  const reply = await fetch(url + path, init)
  const text = await reply.text()
  latencies.push(performance.now() - startedMs)
  counts.requests++
  if (reply.status !== status) fail(`${path}: ${reply.status} ${text.slice(0, 300)}`)
  return text
}

/** A client that goes away in the middle. */
async function leave(body) {
  const signal = AbortSignal.timeout(Math.ceil(Math.random() * 3))
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body), signal }
  await fetch(`${url}/compat/chat/completions`, init)
    .then((reply) => reply.text())
    .catch(() => {})
  counts.requests++
}

async function sample() {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  const read = (name) => Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)`, 'm').exec(metrics)?.[1] ?? Number.NaN)
  const sorted = latencies.sort((a, b) => a - b)
  latencies = []
  samples.push({
    requests: counts.requests,
    rss_mib: read('process_resident_memory_bytes') / 2 ** 20,
    heap_mib: read('nodejs_heap_size_used_bytes') / 2 ** 20,
    descriptors: countDescriptors(),
    p99_ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
  })
}

/** Open files and sockets; 0 if the system does not report them. */
function countDescriptors() {
  try {
    return readdirSync(`/proc/${server.pid}/fd`).length
  } catch {
    return 0
  }
}

function report() {
  const counted = lowest(samples.slice(Math.floor(samples.length * WARM_UP)))
  const last = counted.at(-1)
  console.log(
    `${counts.requests} requests in ${minutes} min by ${clients} clients, ${counts.failures} answered wrongly\n`,
  )
  console.log('what         at the end  per 10,000 requests  bound')
  let isOver = counts.failures > 0
  for (const [name, bound] of Object.entries(BOUNDS)) {
    const slope = slopeOf(counted.map((each) => [each.requests, each[name]])) * 10_000
    const isWithin = slope <= bound
    isOver ||= !isWithin
    console.log(
      `${name.padEnd(12)} ${last[name].toFixed(1).padStart(10)}  ${slope.toFixed(2).padStart(19)}  ${bound}${isWithin ? '' : '  grows'}`,
    )
  }
  process.exitCode = isOver ? 1 : 0
}

/** Returns the lowest values of each window. */
function lowest(all) {
  const windows = Array.from({ length: Math.floor(all.length / WINDOW) }, (_, n) =>
    all.slice(n * WINDOW, (n + 1) * WINDOW),
  )
  return windows.map((each) => {
    const names = Object.keys(BOUNDS).map((name) => [name, Math.min(...each.map((sample) => sample[name]))])
    return { ...Object.fromEntries(names), requests: each.at(-1).requests }
  })
}

/** Slope of the line through points by least squares. */
function slopeOf(points) {
  const mean = (index) => points.reduce((sum, point) => sum + point[index], 0) / points.length
  const [meanX, meanY] = [mean(0), mean(1)]
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return below === 0 ? 0 : above / below
}
