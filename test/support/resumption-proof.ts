import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type OpenedProject, openProject, type ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { HostError } from '../../src/errors.ts'
import type { Reservation } from '../../src/host/reservation.ts'
import { type BuiltServer, buildServer } from '../../src/server/server.ts'
import { CheckedStore } from '../../src/store/checked-store.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Change, RecordStore } from '../../src/store/record-store.ts'
import { eventually } from './eventually.ts'
import { AGENT, MCP_ANSWERING, type Place, type Waiting, type Way } from './resumption-ways.ts'
import { makeProject, type TempProject } from './temp-project.ts'

const AGENT_FILE = `agents/${AGENT}.yml`
const DEFINITION = `id: ${AGENT}
modules: [{ id: drawer, module: drawer }, { id: desk, module: desk }]`

/**
 * Pays whom the user names; each payment needs an approval, or a result of the client's tool `sign` where the client has it. `drawer` lists
 * its tools only while its gate is open.
 */
const FILES = {
  [AGENT_FILE]: DEFINITION,
  'modules/drawer.ts': `import { defineModule, ToolProvider } from 'agent-host'
const till = (globalThis.till ??= { paid: [], atGate: 0 })
const parameters = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] }
export default defineModule({ name: 'Drawer', provides: [ToolProvider], create: () => ({
  async listTools() { if (till.gate) { till.atGate++; await till.gate }; return [{ name: 'pay', description: 'Pays.', parameters }] },
  needsApproval: (_, { signed }) => !signed,
  executeTool: (_, { to }) => { till.paid.push(to); return { text: 'paid ' + to } } }) })`,
  'modules/desk.ts': `import { ConversationHistory, defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Desk', provides: [TextMessageHandler],
  uses: { tools: many(ToolProvider), history: ConversationHistory, response: Response },
  create: ({ tools: [drawer, client], history, response }) => ({ async handleText(to, run) {
    const done = (await history.getHistory()).findLast(({ role }) => role === 'tool')
    if (client && !done) return void (await client.executeTool('sign', { to }, run.with({ toolCallId: 'call_0' })))
    if (done?.toolCallId === 'call_1') return void (await response.respondText(done.content))
    await drawer.executeTool('pay', { to, ...(client ? { signed: true } : {}) }, run.with({ toolCallId: 'call_1' })) } }) })`,
}

interface Till {
  readonly paid: string[]
  /** Number of times that tools were about to be listed while the gate was closed. */
  atGate: number
  gate?: Promise<void> | undefined
}

function till(): Till {
  const globals = globalThis as { till?: Till }
  globals.till ??= { paid: [], atGate: 0 }
  return globals.till
}

const payments = (to: string): number => till().paid.filter((paid) => paid === to).length

/** Time in which a server has noticed that a client has left. */
const LEAVE_MS = 100
/** More than the queue takes. */
const MAX_QUEUED = 40
const MAX_RUNS = 20

/** Servers and a program on one project and store, which are decided at. */
export class Counter implements Place {
  readonly files: TempProject
  readonly records: RecordStore
  readonly #store: string
  #server!: BuiltServer
  #project!: OpenedProject
  #url = ''

  static async open(store = 'sqlite'): Promise<Counter> {
    const files = await makeProject(FILES)
    const records = await openStore({ store, dir: join(files.dir, 'responses'), projectDir: files.dir })
    const counter = new Counter(files, records, store)
    await counter.start()
    return counter
  }

  private constructor(files: TempProject, records: RecordStore, store: string) {
    this.files = files
    this.records = records
    this.#store = store
  }

  url = (): string => this.#url
  project = (): OpenedProject => this.#project

  get hosts() {
    return [this.#server.host, this.#project.host]
  }

  async start(): Promise<void> {
    const options: Partial<ServerOptions> = { projectDir: this.files.dir, store: this.#store, logLevel: 'silent' }
    const limits = { maxConcurrentRuns: MAX_RUNS, maxQueuedRuns: MAX_QUEUED, drainTimeout: 0 }
    const adapters = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter']
    this.#server = await buildServer({ ...options, ...limits, adapters, port: 0 })
    this.#url = await this.#server.listen()
    this.#project = await openProject({ ...options, ...limits })
  }

  async stop(): Promise<void> {
    await this.#server.close()
    await this.#project.close()
  }

  async close(): Promise<void> {
    await this.stop()
    await this.records.close()
  }
}

/** Reason for which a decision is refused. */
export interface Refusal {
  readonly name: string
  /** Brings it about, for calls that wait. Returns a function that ends it. */
  readonly begin: (counter: Counter, waiting: readonly Waiting[]) => Promise<() => Promise<unknown>>
  /** Sends the decision; by default as the way does. */
  readonly decide?: (waiting: Waiting) => Promise<string | undefined>
  /** Reason why a way is never refused for this; undefined for one that is. */
  readonly cannotBe: (way: Way, isShared: boolean) => string | undefined
}

export const REFUSALS: readonly Refusal[] = [
  {
    name: 'the host is full',
    cannotBe: ({ isQueued }) => (isQueued ? 'its job waits for a slot' : undefined),
    async begin({ hosts }) {
      const taken = hosts.flatMap((host) => reserveAll(() => host.reserve(AGENT, false)))
      return async () => {
        for (const { release } of taken) release()
      }
    },
  },
  {
    name: 'the queue is full',
    cannotBe: ({ isQueued }) => (isQueued ? undefined : 'it takes a slot, no place in the queue'),
    async begin({ hosts, records }) {
      // A decision that finds a slot needs no place in the queue.
      const taken = hosts.flatMap((host) => reserveAll(() => host.reserve(AGENT, true)))
      const mark = JSON.stringify({ agent: 'nobody', attempts: 0, sinceMs: Date.now() })
      const keys = Array.from({ length: MAX_QUEUED }, (_, n) => `queued:resp_${n}`)
      await records.commit(keys.map((key): Change => [key, mark]))
      // The size of the queue is known for a second.
      await wait(1100)
      return async () => {
        for (const { release } of taken) release()
        await records.commit(keys.map((key): Change => [key, undefined]))
        await wait(1100)
      }
    },
  },
  {
    name: 'the server closes',
    cannotBe: ({ isQueued }) =>
      isQueued
        ? 'its run is stored, and carried out after the restart; a request that comes later is refused at the door'
        : undefined,
    async begin(counter) {
      for (const host of counter.hosts) await host.close(0)
      return async () => {
        await counter.stop()
        await counter.start()
      }
    },
  },
  {
    name: 'the client leaves',
    cannotBe: ({ isQueued }) => (isQueued ? 'its job goes on without the client' : undefined),
    async begin() {
      let open = () => {}
      till().gate = new Promise((resolve) => {
        open = resolve
      })
      return async () => {
        till().gate = undefined
        open()
      }
    },
    async decide(waiting) {
      const before = till().atGate
      const leaving = new AbortController()
      const deciding = waiting.decide(leaving.signal).catch(({ message }: Error) => message)
      await eventually(() => expect(till().atGate).to.be.above(before))
      leaving.abort()
      const reason = await deciding
      // The server hears of it a moment later.
      await wait(LEAVE_MS)
      return reason
    },
  },
  {
    name: 'the commit is refused',
    cannotBe: () => undefined,
    async begin() {
      const { commit } = CheckedStore.prototype
      CheckedStore.prototype.commit = async function (changes, ...rest) {
        if (changes.some(([key]) => /^(approval|continued):/.test(key)))
          throw new HostError('STORE_UNAVAILABLE', 'The disk is full.')
        return commit.call(this, changes, ...rest)
      }
      return async () => {
        CheckedStore.prototype.commit = commit
      }
    },
  },
  {
    name: 'the agent is gone',
    cannotBe: () => undefined,
    async begin({ hosts }) {
      for (const host of hosts) host.unregister(AGENT)
      return () => Promise.all(hosts.map((host) => host.register(DEFINITION, { file: AGENT_FILE })))
    },
  },
  {
    name: 'the history cannot be read',
    cannotBe: () => undefined,
    async begin({ records }) {
      // The latest: a store that other proofs have used has more.
      const keys = await records.list({ prefix: 'turn:', order: 'desc', limit: 1000 })
      const texts = await records.get(keys)
      const stored = keys.flatMap((key, index): Change[] => {
        const text = texts[index]
        return text === undefined ? [] : [[key, text]]
      })
      await records.commit(stored.map(([key]): Change => [key, '{"damaged']))
      return () => records.commit(stored)
    },
  },
]

function reserveAll(reserve: () => Reservation): Reservation[] {
  const taken: Reservation[] = []
  for (;;) {
    try {
      taken.push(reserve())
    } catch {
      return taken
    }
  }
}

let receivers = 0

/**
 * Has each way be refused for this reason: the approval stays pending and nothing is paid. The same decision then pays once, and a
 * second one nothing.
 */
export async function proveRefused(counter: Counter, refusal: Refusal, ways: readonly Way[]): Promise<void> {
  const all: { way: Way; to: string; waiting: Waiting }[] = []
  for (const way of ways) {
    const to = `${way.name} ${receivers++}`
    all.push({ way, to, waiting: await way.wait(counter, to) })
  }
  const stored = all.map(({ waiting }) => waiting)
  let end = async (): Promise<unknown> => undefined
  const begin = async () => {
    end = await refusal.begin(counter, stored)
  }
  const refused: string[] = []
  const refuse = async ({ way, waiting }: (typeof all)[number]) => {
    if (typeof (await (refusal.decide ?? send)(waiting)) === 'string') refused.push(way.name)
  }
  try {
    // A client of the handshake sends its decision within the call.
    for (const each of all.filter(({ way }) => isHandshake(way))) {
      MCP_ANSWERING.before = begin
      await refuse(each)
      MCP_ANSWERING.before = undefined
      await end()
    }
    await begin()
    for (const each of all.filter(({ way }) => !isHandshake(way))) await refuse(each)
    expect(refused.sort()).to.deep.equal(all.map(({ way }) => way.name).sort())
    expect(all.flatMap(({ to }) => (payments(to) > 0 ? [to] : []))).to.deep.equal([])
  } finally {
    MCP_ANSWERING.before = undefined
    await end()
  }
  for (const { way, to, waiting } of all) await proveTaken(counter, way, to, waiting)
}

const send = (waiting: Waiting): Promise<string | undefined> => waiting.decide()
const isHandshake = ({ name }: Way): boolean => name === 'MCP 2025-11-25'

async function proveTaken(counter: Counter, way: Way, to: string, waiting: Waiting): Promise<void> {
  const { approvalId } = waiting
  const statusOf = async () => {
    const [text = '{}'] = await counter.records.get([`approval:${approvalId}`])
    return JSON.parse(text).status
  }
  if (approvalId !== undefined) {
    await eventually(async () => expect(await statusOf(), way.name).to.equal('pending'), 10_000)
  }
  expect(await waiting.decide(), way.name).to.equal(undefined)
  await eventually(() => expect(payments(to), way.name).to.equal(1), 10_000)
  if (approvalId !== undefined) expect(await statusOf(), way.name).to.equal('approved')
  if (isHandshake(way)) return
  const again = await waiting.decide()
  // A state that is sent again gets the outcome of the run that went on with it.
  if (way.name === 'MCP 2026-07-28') expect(again, `${way.name}, again`).to.equal(undefined)
  else expect(again, `${way.name}, again`).to.be.a('string')
  expect(payments(to), way.name).to.equal(1)
}

/** An approved call of an earlier version of the agent: it asks again, and the decision about that pays once. */
export async function proveReplaced(counter: Counter, way: Way): Promise<void> {
  const to = `${way.name} ${receivers++}`
  const waiting = await way.wait(counter, to)
  for (const host of counter.hosts) {
    await host.replace(AGENT, `${DEFINITION}\ndescription: ${to}`, { file: AGENT_FILE })
  }
  await waiting.decide()
  const next = await eventually(async () => {
    const open = await counter.records.entries({ prefix: 'approval:', limit: 10_000 })
    const found = open.map(([, text]) => JSON.parse(text)).find((row) => isOpenFor(row, to))
    expect(found, way.name).to.not.equal(undefined)
    return found
  }, 10_000)
  expect([next.id === waiting.approvalId, payments(to)]).to.deep.equal([false, 0])
  const reply = await fetch(`${counter.url()}/compat/approvals/${next.id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"decision":"approve"}',
  })
  expect(reply.status).to.equal(200)
  await eventually(() => expect(payments(to), way.name).to.equal(1), 10_000)
}

function isOpenFor(row: { status: string; pending: { arguments: { to?: string } } }, to: string): boolean {
  return row.status === 'pending' && row.pending.arguments.to === to
}
