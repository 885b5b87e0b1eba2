import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { ServerOptions } from 'agent-host'
import type { InjectOptions } from 'fastify'
import { resolveServerOptions } from '../../src/server/options/options.ts'
import type { BuiltServer } from '../../src/server/server.ts'
import { Balancer } from './balancer.ts'
import type { ReplicaMessage, ReplicaRequest } from './replica-process.ts'
import { talkState } from './talk-state.ts'

/** Part of a server that its clients see. */
export type Replicas = Pick<BuiltServer, 'options' | 'listen' | 'close'> & {
  readonly app: { inject(options: InjectOptions | string): Promise<object> }
}

const COUNT = 3
const PROCESS = fileURLToPath(new URL('replica-process.ts', import.meta.url))
/** They serve one test after the other. */
let processes: ReplicaProcess[] | undefined

/** Opens three servers in processes of their own, which share a store, behind a proxy without affinity. */
export async function openReplicas(rawOptions: Partial<ServerOptions>, store: string): Promise<Replicas> {
  const options = resolveServerOptions({ ...rawOptions, store: partOf(store, rawOptions) })
  processes ??= Array.from({ length: COUNT }, () => new ReplicaProcess())
  const servers = await Promise.all(processes.map((replica) => replica.open({ ...rawOptions, store: options.store })))
  const balancer = await Balancer.open(servers.map(({ url }) => url))
  return {
    options,
    app: { inject: (request) => inject(balancer.url, typeof request === 'string' ? { url: request } : request) },
    listen: async () => balancer.url,
    async close() {
      await Promise.all(servers.map((server) => server.close()))
      await balancer.close()
    },
  }
}

/** Returns a part of the store for each folder of responses. */
function partOf(store: string, { projectDir, responsesDir = projectDir }: Partial<ServerOptions>): string {
  const name = `t${createHash('sha256').update(`${responsesDir}`).digest('hex').slice(0, 16)}`
  return `${store}?${store.startsWith('redis') ? 'prefix' : 'schema'}=${name}`
}

/** Answers as Fastify's `inject` does. */
async function inject(origin: string, { url, method = 'GET', headers, payload }: InjectOptions): Promise<object> {
  const isText = payload === undefined || typeof payload === 'string'
  const reply = await fetch(origin + url, {
    method,
    headers: { ...(isText ? {} : { 'content-type': 'application/json' }), ...(headers as Record<string, string>) },
    ...(payload === undefined ? {} : { body: isText ? payload : JSON.stringify(payload) }),
  })
  const body = await reply.text()
  return {
    statusCode: reply.status,
    headers: Object.fromEntries(reply.headers),
    body,
    payload: body,
    json: () => JSON.parse(body),
  }
}

/** A process that opens one server after the other. */
class ReplicaProcess {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (message: { url?: string; error?: string }) => void>()
  #requests = 0

  constructor() {
    this.#child = fork(PROCESS)
    this.#child.on('message', (message: ReplicaMessage) => this.#onMessage(message))
  }

  async open(options: Partial<ServerOptions>): Promise<{ url: string; close(): Promise<void> }> {
    const id = ++this.#requests
    const { url = '' } = await this.#ask({ id, open: options })
    return { url, close: async () => void (await this.#ask({ id: ++this.#requests, close: id })) }
  }

  async #ask(request: ReplicaRequest): Promise<{ url?: string }> {
    this.#child.send(request)
    const answer = await new Promise<{ url?: string; error?: string }>((resolve) => {
      this.#waiting.set(request.id, resolve)
    })
    if (answer.error !== undefined) throw new Error(answer.error)
    return answer
  }

  #onMessage(message: ReplicaMessage): void {
    if ('counted' in message) {
      talkState()[message.counted]++
      return
    }
    this.#waiting.get(message.id)?.(message)
    this.#waiting.delete(message.id)
  }
}
