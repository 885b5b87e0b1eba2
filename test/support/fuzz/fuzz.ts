import { readFileSync } from 'node:fs'
import { fuzzRequests } from './requests.ts'
import { makeFuzzedServer } from './server.ts'
import { fuzzSockets } from './sockets.ts'
import { fuzzTurns } from './turns.ts'
import { fuzzWebSockets } from './web-sockets.ts'

/** Numbers of what is sent. */
export interface FuzzCounts {
  readonly requests: number
  readonly sockets: number
  readonly messages: number
  readonly turns: number
}

/** Seeds that every run begins with; one that has found a fault is added. */
export const KEPT_SEEDS: readonly number[] = JSON.parse(readFileSync(new URL('./seeds.json', import.meta.url), 'utf8'))

/** Sends a server what a seed leads to, and returns the faults. The server is closed by `closeServers`. */
export async function fuzz(seed: number, { requests, sockets, messages, turns }: FuzzCounts): Promise<unknown[]> {
  const server = await makeFuzzedServer(seed)
  return [
    ...(await fuzzRequests(server, seed, requests)),
    ...(await fuzzSockets(server, seed, sockets)),
    ...(await fuzzWebSockets(server, seed, messages)),
    ...(await fuzzTurns(server, seed, turns)),
  ]
}
