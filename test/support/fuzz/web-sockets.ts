import fc from 'fast-check'
import { withDeadline } from '../../../src/async.ts'
import { openSocket, type SocketClient } from '../response-socket.ts'
import type { Json } from '../responses.ts'
import { makeFill, response } from './requests.ts'
import type { FuzzedServer } from './server.ts'

const AT_ONCE = 10
const TIMEOUT_MS = 30_000
const AGENT_FAILED = /Agent execution failed|does not fit/

const message = fc.oneof(
  { weight: 8, arbitrary: response.map((body) => ({ type: 'response.create', ...body })) },
  { weight: 1, arbitrary: fc.anything().map((body) => ({ type: 'response.create', body })) },
  { weight: 1, arbitrary: fc.anything() },
)

/** Sends messages of any shape over WebSockets, one after the other, and returns those whose answer is a fault, or that have none. */
export async function fuzzWebSockets({ app, url }: FuzzedServer, seed: number, count: number): Promise<unknown[]> {
  const faults: unknown[] = []
  const fill = await makeFill(app)
  const messages = fc.sample(message, { numRuns: count, seed }).map((each) => fill(toText(each)))
  await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, lane) => {
      const client = await openSocket(url)
      for (const text of messages.filter((_message, index) => index % AT_ONCE === lane)) {
        const problem = await exchange(client, text)
        if (problem !== undefined) faults.push({ seed, problem, sent: text })
      }
      client.socket.close()
    }),
  )
  return faults
}

/** What JSON cannot hold goes as it prints. */
function toText(message: unknown): string {
  try {
    return JSON.stringify(message) ?? 'undefined'
  } catch {
    return String(message)
  }
}

/** Returns what is wrong with the answer to a message; undefined for a good one. */
async function exchange({ send, next }: SocketClient, text: string): Promise<string | undefined> {
  send(text)
  try {
    for (;;) {
      const event = await withDeadline(next(), TIMEOUT_MS, () => new Error('no answer'))
      if (event === undefined) return 'the connection was closed'
      if (event.type === 'error') return isFault(event) ? JSON.stringify(event) : undefined
      if (/^response\.(completed|failed|incomplete|cancelled)$/.test(event.type)) return undefined
    }
  } catch (error) {
    return (error as Error).message
  }
}

function isFault({ status, error }: Json): boolean {
  return status >= 500 && !AGENT_FAILED.test(error.message)
}
