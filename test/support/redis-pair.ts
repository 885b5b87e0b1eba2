import { connect, createServer, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { eventually } from './eventually.ts'
import { type StoreServer, startRedis } from './store-servers.ts'

/** Two servers of Redis behind one address, as a managed one has them. */
export class RedisPair {
  readonly #servers: readonly [StoreServer, StoreServer]
  readonly #front: Server
  readonly #sockets = new Set<Socket>()
  #primary: StoreServer

  private constructor(servers: readonly [StoreServer, StoreServer]) {
    this.#servers = servers
    this.#primary = servers[0]
    this.#front = createServer((client) => this.#join(client, connect(portOf(this.#primary), '127.0.0.1')))
  }

  static async start(): Promise<RedisPair> {
    const first = await startRedis(['--repl-diskless-sync-delay', '0'])
    const second = await startRedis(['--replicaof', '127.0.0.1', `${portOf(first)}`])
    await tell(second, async (replica) => {
      await eventually(async () => expect(await replica.info('replication')).to.include('link_status:up'), 20_000)
    })
    const pair = new RedisPair([first, second])
    await new Promise<void>((resolve) => pair.#front.listen(0, '127.0.0.1', resolve))
    return pair
  }

  get url(): string {
    const address = this.#front.address()
    return `redis://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  }

  /** Makes the other one the primary, once it has everything. Connections to the old one stay, and new ones reach the new one. */
  async failOver(): Promise<void> {
    const [first, second] = this.#servers
    const [old, next] = this.#primary === first ? [first, second] : [second, first]
    await tell(old, (redis) => redis.wait(1, 20_000))
    await tell(next, (redis) => redis.replicaof('NO', 'ONE'))
    await tell(old, (redis) => redis.replicaof('127.0.0.1', portOf(next)))
    this.#primary = next
  }

  async remove(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#front.close()
    for (const server of this.#servers) await server.remove()
  }

  #join(client: Socket, server: Socket): void {
    client.pipe(server).pipe(client)
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one)
      one.on('error', () => one.destroy())
      one.on('close', () => {
        this.#sockets.delete(one)
        other.destroy()
      })
    }
  }
}

function portOf({ directUrl }: StoreServer): number {
  return Number(new URL(directUrl).port)
}

async function tell(server: StoreServer, act: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = new Redis(server.directUrl)
  await act(redis)
  redis.disconnect()
}
