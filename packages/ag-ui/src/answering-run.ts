import {
  type AdapterOptions,
  type BegunRequest,
  type DurableEvent,
  type EventStream,
  type FastifyReply,
  type FastifyRequest,
  HostError,
  type ResumedRun,
  type RunEvent,
  type RunResult,
  type StoredRunInfo,
  type TenantRuns,
  type Usage,
} from 'agent-host'
import type { AgUiEvent } from './ag-ui-event.ts'
import { makeAgentState } from './agent-state.ts'
import { EventWriter } from './event-writer.ts'
import type { AgentFacts } from './known-agents.ts'
import type { Resume, RunAgentInput } from './run-input.ts'
import { toInterrupt } from './to-interrupt.ts'

export interface AnsweringRunOptions extends Pick<AdapterOptions, 'http' | 'options' | 'describeFailure'> {
  readonly agent: string
  readonly input: RunAgentInput
  readonly own: TenantRuns
  /** Calls of earlier runs, which the client has. */
  readonly known: ReadonlySet<string>
  readonly facts: AgentFacts
}

/** End of a run, as fields of `RUN_FINISHED`. */
type Ending = Readonly<Record<string, unknown>>

const CANCELLED: Ending = Object.freeze({ outcome: { type: 'cancelled' } })

/** The answer to one request: a run, told as a stream of events. */
export class AnsweringRun {
  readonly #options: AnsweringRunOptions
  /** Events until the head of the answer is sent. */
  readonly #early: (() => readonly AgUiEvent[])[] = []
  #stream: EventStream | undefined

  constructor(options: AnsweringRunOptions) {
    this.#options = options
  }

  /**
   * Begins a run, before a head is sent: what refuses it is answered with its status.
   *
   * @throws HostError as `TenantRuns.begin`
   */
  async begin(request: FastifyRequest, reply: FastifyReply, asked: BegunRequest): Promise<unknown> {
    const { own, http, input, facts } = this.#options
    let writer: EventWriter | undefined
    const onEvent = (event: RunEvent) => this.#tell(() => writer?.write(event) ?? [])
    // The protocol reads null as no state.
    const state = makeAgentState(input.state ?? {}, (event) => this.#tell(() => [event]))
    const overrides = facts.stateModule === undefined ? {} : { overrides: { [facts.stateModule]: state } }
    const run = await own.begin(asked, { onEvent, ...overrides })
    writer = this.#makeWriter(run.id)
    http.whenClientLeaves(reply, (reason) => run.abort(reason))
    return this.#send(request, reply, () => this.#follow(run, writer), run.id)
  }

  /** Says that a run is cancelled. */
  cancel(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    return this.#send(request, reply, async () => CANCELLED)
  }

  /** Tells what runs have said that went on elsewhere, after answers in the inbox, up to the latest: the client has not seen it. */
  replay(request: FastifyRequest, reply: FastifyReply, latest: StoredRunInfo): Promise<unknown> {
    const { own, http } = this.#options
    const leaving = new AbortController()
    http.whenClientLeaves(reply, (reason) => leaving.abort(reason))
    const isSeen = this.#hasSeen(latest.id)
    return this.#send(request, reply, async () => {
      const writer = this.#makeWriter(latest.id)
      for (const id of isSeen ? [latest.id] : await this.#listUnseen(latest)) {
        for await (const event of own.follow(id, { signal: leaving.signal })) {
          const told = toRunEvent(event)
          if (!isSeen) await this.#tell(() => writer.write(told))
        }
      }
      const run = await own.find(latest.id)
      if (run?.status === 'expired') throw new HostError('APPROVAL_DECIDED', 'The approval has expired')
      // One that is deleted is cancelled first.
      return run && run.status !== 'cancelled' ? this.#finish(writer, run) : this.#endCancelled(writer)
    })
  }

  /** Returns the ids of the runs that the client has not seen, up to this one: each went on with the one before it. */
  async #listUnseen({ id, previousId }: StoredRunInfo): Promise<string[]> {
    const before = previousId === null ? undefined : await this.#options.own.find(previousId)
    if (before?.continuedBy !== id || this.#hasSeen(before.id)) return [id]
    return [...(await this.#listUnseen(before)), id]
  }

  /** Tells whether the client has a message of a run, or an interrupt: their ids hold its own. */
  #hasSeen(id: string): boolean {
    const { messages, resume = [] } = this.#options.input
    const isOfRun = ({ interruptId }: Resume) => interruptId.includes(id.replace('resp_', ''))
    return messages.some((message) => message.id.startsWith(`${id}-`)) || resume.some(isOfRun)
  }

  #makeWriter(prefix: string): EventWriter {
    const { known, facts } = this.#options
    return new EventWriter({ prefix, known, calledAgent: facts.calledAgent })
  }

  async #follow(run: ResumedRun, writer: EventWriter): Promise<Ending> {
    try {
      const result = await run.result
      const waiting = result.status === 'waiting' ? await this.#options.own.find(run.id) : undefined
      return { ...(await this.#finish(writer, waiting)), ...toUsage(result) }
    } catch (error) {
      if (!isCancelled(error)) throw error
      return this.#endCancelled(writer)
    }
  }

  async #endCancelled(writer: EventWriter): Promise<Ending> {
    await this.#tell(() => writer.end('cancelled'))
    return CANCELLED
  }

  /** @param waiting the run, as it is stored; undefined for one that does not wait */
  async #finish(writer: EventWriter, waiting: StoredRunInfo | undefined): Promise<Ending> {
    const { open = [], endedAt } = waiting ?? {}
    const sinceMs = endedAt ? endedAt * 1000 : Date.now()
    const interrupts = open.flatMap((each) => toInterrupt(each, sinceMs) ?? [])
    await this.#tell(() => writer.end(open.length > 0 ? 'waiting' : 'completed', interrupts))
    if (interrupts.length > 0) return { outcome: { type: 'interrupt', interrupts } }
    // Without `pendingToolCallIds`: clients before 1.0, such as that of CopilotKit 1.75, refuse them, and later ones see which calls have no result.
    return { outcome: { type: 'success' } }
  }

  #send(request: FastifyRequest, reply: FastifyReply, tell: () => Promise<Ending>, id?: string): Promise<unknown> {
    const { http, options, input, agent, describeFailure } = this.#options
    const ids = { threadId: input.threadId, runId: input.runId }
    return http.streamAnswer(request, reply, {
      keepAlive: () => ': keep-alive\n\n',
      keepAliveMs: options.streamingTimeout * 1000,
      failure: (error) => {
        const message = codeOf(error) === 'APPROVAL_DECIDED' ? (error as Error).message : describeFailure(error)
        return frame({ type: 'RUN_ERROR', message, code: codeOf(error) })
      },
      send: async (stream) => {
        this.#stream = stream
        const metadata = id === undefined ? {} : { metadata: { runId: id } }
        await this.#tell(() => [
          { type: 'RUN_STARTED', ...ids, protocolVersion: '1.0', ...metadata },
          { type: 'STEP_STARTED', stepName: agent },
          ...this.#early.flatMap((make) => make()),
        ])
        const ending = await tell()
        await this.#tell(() => [{ type: 'STEP_FINISHED', stepName: agent }])
        stream.end(frame({ type: 'RUN_FINISHED', ...ids, ...ending }))
      },
    })
  }

  /** @returns a promise while the client reads more slowly than the agent writes */
  #tell(make: () => readonly AgUiEvent[]): void | Promise<void> {
    if (this.#stream) return this.#stream.send(make().map(frame).join(''))
    this.#early.push(make)
    return undefined
  }
}

function frame(event: AgUiEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`
}

/** Returns an event of a stored run as one of a run in this process. @throws HostError `AGENT_FAILED` for the end of one that failed */
function toRunEvent(event: DurableEvent): RunEvent {
  if (event.type === 'text' || event.type === 'reasoning' || event.type === 'tool_call') return event
  if (event.type === 'tool_result' || event.type === 'pending' || event.type === 'custom') return event
  if (event.type === 'attachment') {
    const { base64 = '', url, ...named } = event.attachment
    return { type: 'attachment', attachment: { ...named, data: url ? new URL(url) : Buffer.from(base64, 'base64') } }
  }
  if (event.type === 'end' && event.status === 'failed') throw new HostError('AGENT_FAILED', event.error ?? '')
  return { type: 'usage', usage: {} }
}

/** Counts that nobody reported are left out: zero would say that there were none. */
function toUsage({ usage, incompleteReason }: RunResult): Ending {
  const metadata = incompleteReason === undefined ? {} : { metadata: { incompleteReason } }
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage
  if (inputTokens + outputTokens === 0) return metadata
  const counts = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
  return { ...metadata, usage: [{ ...counts, ...onlyCounted({ cachedInputTokens, reasoningTokens }) }] }
}

function onlyCounted(counts: Partial<Usage>): object {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}

/** True for a run that was ended on purpose: not by its deadline, nor by a server that shuts down. */
function isCancelled(error: unknown): boolean {
  return codeOf(error) === 'RUN_ABORTED' && !((error as Error).cause instanceof HostError)
}

function codeOf(error: unknown): string {
  return error instanceof HostError ? error.code : 'AGENT_FAILED'
}
