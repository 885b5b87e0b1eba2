import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { Balancer } from './balancer.ts'
import { eventually } from './eventually.ts'
import { type Json, openStream, RESPONSES } from './responses.ts'

/** A server that can be stopped as a supervisor does it. */
export interface Restartable {
  readonly url: string
  stop(): Promise<unknown>
}

const HEADERS = { 'content-type': 'application/json' }
const LANES = 6
/** Time between a server's leaving the proxy and its signal, which Kubernetes gives by `preStop`. */
const LEAVE_MS = 200

/**
 * Restarts servers one after the other while they are asked, and expects that no request fails. They share a store, and have the agent
 * `talk` without a key. Returns the number of requests.
 */
export async function proveRollingRestart(
  start: () => Promise<Restartable>,
  { servers: count, restarts, loadMs }: { servers: number; restarts: number; loadMs: number },
): Promise<number> {
  const servers = await Promise.all(Array.from({ length: count }, start))
  const balancer = await Balancer.open(servers.map(({ url }) => url))
  const load = new Load(balancer.url)
  for (let restart = 0; restart < restarts; restart++) {
    await wait(loadMs)
    const old = servers.shift() as Restartable
    balancer.targets = servers.map(({ url }) => url)
    await wait(LEAVE_MS)
    await old.stop()
    servers.push(await start())
    balancer.targets = servers.map(({ url }) => url)
  }
  await wait(loadMs)
  const { asked, failures, backgrounds } = await load.stop()
  expect(failures).to.deep.equal([])
  for (const id of backgrounds) {
    await eventually(async () => expect((await get(balancer.url, id)).status).to.equal('completed'), 20_000)
  }
  await balancer.close()
  return asked
}

async function get(url: string, id: string): Promise<Json> {
  return (await fetch(`${url}${RESPONSES}/${id}`)).json()
}

/** Plain, streamed and background responses, one after the other in each lane. */
class Load {
  readonly #url: string
  readonly #lanes: Promise<unknown>
  #isStopped = false
  asked = 0
  readonly failures: string[] = []
  readonly backgrounds: string[] = []

  constructor(url: string) {
    this.#url = url + RESPONSES
    this.#lanes = Promise.all(Array.from({ length: LANES }, (_, lane) => this.#keepAsking(lane)))
  }

  async stop(): Promise<this> {
    this.#isStopped = true
    await this.#lanes
    return this
  }

  async #keepAsking(lane: number): Promise<void> {
    for (let n = lane; !this.#isStopped; n++, this.asked++) {
      await this.#ask(n).catch((error: unknown) => this.failures.push(String(error)))
      await wait(20)
    }
  }

  async #ask(n: number): Promise<void> {
    if (n % 3 === 0) await this.#create({ input: `say ${n}` })
    else if (n % 3 === 1) {
      // Handed back by a server that stops, or ended by it: as long as it has said nothing.
      const record = await this.#create({ input: 'say a', background: true })
      if (record) this.backgrounds.push(record.id)
    } else await this.#stream()
  }

  async #create(body: object): Promise<Json | undefined> {
    const init = { method: 'POST', body: JSON.stringify({ model: 'talk', ...body }), headers: HEADERS }
    const reply = await fetch(this.#url, init)
    const json = (await reply.json()) as Json
    if (reply.status === 200) return json
    this.failures.push(`${reply.status} ${JSON.stringify(json)}`)
    return undefined
  }

  async #stream(): Promise<void> {
    const stream = await openStream(this.#url, { model: 'talk', input: 'count 20', stream: true }, HEADERS)
    await stream.done
    const last = stream.events().at(-2)
    if (last?.type !== 'response.completed') this.failures.push(`A stream ended with ${JSON.stringify(last)}`)
  }
}
