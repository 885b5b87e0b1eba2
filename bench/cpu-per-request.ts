import autocannon from 'autocannon'
import type { ChildServer } from './child-server.ts'

/** A request, with its body as JSON; GET where there is none. */
export interface Asked {
  readonly path: string
  readonly body?: object
}

const CONNECTIONS = 4
const ROUNDS = 3

/** Returns the CPU time of a server for a request, all its threads included, in microseconds: the median of some rounds. */
export async function cpuPerRequest(server: ChildServer, asked: readonly Asked[], amount: number): Promise<number> {
  await fire(server, asked, Math.ceil(amount / 4))
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = await server.used()
    await fire(server, asked, amount)
    rounds.push(((await server.used()).cpuMicros - before.cpuMicros) / amount)
  }
  return rounds.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] as number
}

async function fire({ url }: ChildServer, asked: readonly Asked[], amount: number): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const requests = asked.map(({ path, body }) => ({
    path,
    ...(body ? { method: 'POST' as const, headers, body: JSON.stringify(body) } : { method: 'GET' as const }),
  }))
  const { non2xx, errors } = await autocannon({ url, requests, amount, connections: CONNECTIONS })
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} of ${amount} requests of ${asked[0]?.path} failed.`)
}
