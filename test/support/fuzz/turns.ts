import { findFault } from './find-fault.ts'
import type { FuzzedServer } from './server.ts'

const MODEL = 'hostile'
const user = (content: string) => [{ role: 'user', content }]
const REQUESTS: readonly ((text: string) => readonly [url: string, body: object])[] = [
  (text) => ['/compat/chat/completions', { model: MODEL, messages: user(text) }],
  (text) => ['/v1/chat/completions', { model: MODEL, messages: user(text), stream: true }],
  (text) => ['/compat/responses', { model: MODEL, input: text }],
  (text) => ['/v1/responses', { model: MODEL, input: text, stream: true }],
  (text) => ['/compat/responses', { model: MODEL, input: text, store: false, stream: true }],
  (text) => [
    '/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: MODEL, arguments: { message: text } } },
  ],
]
const AT_ONCE = 10
const TIMEOUT_MS = 30_000

/** Asks an agent whose model and MCP server answer whatever nobody should, and returns the answers that are a fault of the host. */
export async function fuzzTurns({ url }: FuzzedServer, seed: number, count: number): Promise<unknown[]> {
  const faults: unknown[] = []
  for (let first = 0; first < count; first += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, n) => first + n)
    await Promise.all(
      numbers.map(async (number) => {
        const make = REQUESTS[number % REQUESTS.length] as (typeof REQUESTS)[number]
        const [path, body] = make(`turn ${seed + number}`)
        const problem = await ask(url, path, body).catch((error: Error) => error.message)
        if (problem !== undefined) faults.push({ seed, path, body, problem })
      }),
    )
  }
  return faults
}

async function ask(url: string, path: string, body: object): Promise<string | undefined> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body), signal })
  const type = reply.headers.get('content-type') ?? ''
  const received = await reply.text()
  const fault = findFault({ method: 'POST', url: path, status: reply.status, type, body: received })
  return fault === undefined ? undefined : `${fault}: ${reply.status} ${received.slice(-500)}`
}
