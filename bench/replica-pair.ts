import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ChildServer } from './child-server.ts'
import { makeProject } from './temp-project.ts'

const PATH = '/compat/responses'
const HEADERS = { 'content-type': 'application/json' }

/** Time that the agent `ticking` said, in an event. */
const SAID = /output_text\.delta".*"delta":"([\d.]+) "/g

/** Two servers on one store: one runs background responses, the other does not. */
export class ReplicaPair {
  readonly owner: ChildServer
  readonly other: ChildServer
  readonly #project: string

  private constructor(owner: ChildServer, other: ChildServer, project: string) {
    this.owner = owner
    this.other = other
    this.#project = project
  }

  static async start(store: string): Promise<ReplicaPair> {
    const project = makeProject()
    const start = (options: object) =>
      ChildServer.start('agent-host', [project, 'ResponsesCompatApiAdapter', '', JSON.stringify({ store, ...options })])
    return new ReplicaPair(await start({}), await start({ noWorker: true }), project)
  }

  async stop(): Promise<void> {
    await Promise.all([this.owner.stop(), this.other.stop()])
  }

  /** CPU time of both so far. */
  async cpuMicros(): Promise<number> {
    const used = await Promise.all([this.owner.used(), this.other.used()])
    return used.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0)
  }

  /** @returns the id of a background response that the owner runs */
  async begin(model: string, input: string): Promise<string> {
    const body = JSON.stringify({ model, input, background: true })
    const reply = await fetch(this.owner.url + PATH, { method: 'POST', headers: HEADERS, body })
    if (!reply.ok) throw new Error(`${reply.status}: ${await reply.text()}`)
    return ((await reply.json()) as { id: string }).id
  }

  /** Waits until the owner runs a response. */
  async whenBegun(id: string): Promise<void> {
    for (;;) {
      const reply = await fetch(`${this.other.url}/v1/responses/${id}`)
      if (((await reply.json()) as { status: string }).status === 'in_progress') return
      await wait(20)
    }
  }

  /**
   * Follows a response of the agent `ticking` to its end.
   *
   * @returns the time that each step took to arrive, in ms
   */
  async follow(server: ChildServer, id: string): Promise<number[]> {
    const { hostname, port, host } = new URL(server.url)
    // A bare socket: the client shares the cores with the servers.
    const socket = connect(Number(port), hostname).setEncoding('latin1')
    socket.write(`GET ${PATH}/${id}?stream=true HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    const delays: number[] = []
    let rest = ''
    socket.on('data', (chunk: string) => {
      const nowMs = performance.timeOrigin + performance.now()
      const text = rest + chunk
      const end = Math.max(text.lastIndexOf('\n\n'), 0)
      for (const [, saidMs] of text.slice(0, end).matchAll(SAID)) delays.push(nowMs - Number(saidMs))
      rest = text.slice(end)
    })
    await once(socket, 'end')
    return delays
  }

  /** Cancels a response of the agent `silent` through the other server. */
  async cancel(id: string): Promise<void> {
    const reply = await fetch(`${this.other.url}${PATH}/${id}/cancel`, { method: 'POST' })
    if (!reply.ok) throw new Error(`${reply.status}: ${await reply.text()}`)
  }

  /** Times at which the agent `silent` was aborted, by question. */
  abortedMs(): Map<string, number> {
    const lines = readFileSync(join(this.#project, 'aborted.txt'), 'utf8').trimEnd().split('\n')
    return new Map(lines.map((line) => line.split(' ')).map(([asked = '', atMs]) => [asked, Number(atMs)]))
  }
}
