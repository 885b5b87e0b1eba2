import type { AgentHost, Message, RunResult, Turn } from 'agent-host'
import { HostError } from '../../src/errors.ts'
import { START_MADE, VISITS } from '../../src/host/host.ts'
import { Visits } from '../../src/host/visits.ts'
import { NO_USAGE } from '../../src/protocols/usage.ts'

/** Creates a host whose runs do what the test tells them, with slots for so many at once. */
export function makeManualHost(slots = 10, agents: readonly string[] = ['agent']) {
  const runs: ManualRun[] = []
  const refuseUnknown = (name: string) => {
    if (!agents.includes(name)) throw new HostError('AGENT_NOT_FOUND', `There is no agent '${name}'.`)
  }
  const host = {
    has: (name: string) => agents.includes(name),
    check: () => {},
    resolve: (name: string) => {
      refuseUnknown(name)
      return { agent: {}, capabilities: { attachments: [] } }
    },
    get freeBackgroundSlots() {
      return slots - runs.filter(({ hasEnded }) => !hasEnded).length
    },
    reserve: (name: string) => {
      refuseUnknown(name)
      if (host.freeBackgroundSlots <= 0) throw new HostError('OVERLOADED', 'All slots are taken.')
      return { vary: async () => {}, check: () => {}, start: (turn: Turn) => host.start(name, turn), release: () => {} }
    },
    [VISITS]: new Visits(),
    [START_MADE]: (name: string, turn: Turn) => host.start(name, turn),
    start: (_name: string, turn: Turn) => {
      const run = new ManualRun(turn)
      runs.push(run)
      return run
    },
  }
  return { host: host as unknown as AgentHost, runs }
}

export class ManualRun {
  readonly id = 'run'
  readonly result: Promise<RunResult>
  isAborted = false
  hasEnded = false
  readonly #messages: readonly Message[]
  #said = ''
  readonly #onEvent: Turn['onEvent']
  #resolve: (result: RunResult) => void = () => {}
  #reject: (error: Error) => void = () => {}

  constructor({ messages, onEvent }: Turn) {
    this.#messages = messages
    this.#onEvent = onEvent
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** The message that it was asked to handle. */
  get asked(): string | undefined {
    return this.#messages.at(-1)?.content
  }

  /** Says something: resolved when the agent may go on. */
  async say(text: string): Promise<void> {
    this.#said += text
    await this.#onEvent?.({ type: 'text', text })
  }

  /** Calls a tool: resolved when it may be executed. */
  async call(): Promise<void> {
    await this.#onEvent?.({ type: 'tool_call', call: { id: 'c1', name: 'pay', arguments: {} }, moduleId: 'tools' })
  }

  fail(error: Error): void {
    this.hasEnded = true
    this.#reject(error)
  }

  complete(): void {
    this.hasEnded = true
    this.#resolve({
      runId: this.id,
      status: 'completed',
      text: this.#said,
      attachments: [],
      usage: NO_USAGE,
      incompleteReason: undefined,
      pending: [],
      trail: [...this.#messages, { role: 'assistant', content: this.#said }],
    })
  }

  abort(): void {
    this.isAborted = true
  }
}
