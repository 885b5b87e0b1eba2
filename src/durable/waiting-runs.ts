import { HostError, messageOf } from '../errors.ts'
import type { AgentHost, RunOptions } from '../host/host.ts'
import type { Log } from '../protocols/log.ts'
import type { Message } from '../protocols/message.ts'
import { fromMessageJson, type MessageJson, toMessageJson } from '../run/attachment-json.ts'
import { bindAnswer, type PendingAnswer, type PendingCall } from '../run/pending-call.ts'
import type { RunEvent } from '../run/run-event.ts'
import { findAnswerProblem } from '../run/settle-answers.ts'
import type { RunResult, Turn } from '../run/turn.ts'
import type { RecordStore } from '../store/record-store.ts'
import { parseRow, ROW_VERSION } from './parse-row.ts'

/** Run that waits for a person or a program. */
export interface WaitingRun {
  readonly runId: string
  /** Name that the agent was called by: `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  readonly pending: readonly PendingCall[]
}

/** Options of {@link WaitingRuns.resume}. */
export type ResumeOptions = Pick<RunOptions, 'signal' | 'onEvent' | 'overrides'>

/** Part of a turn that a run takes along when it goes on. */
type StoredOptions = Pick<
  Turn,
  'instructions' | 'user' | 'metadata' | 'input' | 'requestOptions' | 'clientTools' | 'background'
>

interface Row extends WaitingRun {
  readonly version: number
  readonly trail: readonly MessageJson[]
  readonly options: StoredOptions
  /** Server that resumes the run; null until one does. */
  readonly resumedBy: string | null
  /** True once an approved call may have begun. */
  readonly hasBegun: boolean
}

const PREFIX = 'waiting-run:'
const PAGE = 500

export interface WaitingRunsOptions {
  readonly host: AgentHost
  readonly log: Log
  /** Called whenever a record is read or written. */
  readonly openRecords: () => Promise<RecordStore>
}

/** Runs of a program that wait: stored, so that any process resumes them, each once. */
export class WaitingRuns {
  readonly #options: WaitingRunsOptions
  readonly #listeners = new Set<(waiting: WaitingRun) => void>()

  constructor(options: WaitingRunsOptions) {
    this.#options = options
  }

  /** Calls `listener` with every run of this process that begins to wait, once it is stored. Returns a function that ends it. */
  onWaiting(listener: (waiting: WaitingRun) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Runs one turn to its end. A run that waits is stored before this returns. */
  async run(agent: string, input: string | readonly Message[], options: RunOptions = {}): Promise<RunResult> {
    const result = await this.#options.host.run(agent, input, options)
    if (result.status === 'waiting') await this.#keep(agent, result, options)
    return result
  }

  /** Returns the runs that wait, in no certain order. */
  async list(): Promise<WaitingRun[]> {
    const records = await this.#open()
    const found: WaitingRun[] = []
    for (let after: string | undefined; ; ) {
      const bound: { after?: string } = after === undefined ? {} : { after }
      const page = await records.entries({ prefix: PREFIX, limit: PAGE, ...bound })
      for (const [key, text] of page) {
        const { runId, agent, pending, resumedBy } = parseRow<Row>(key.slice(PREFIX.length), text)
        if (resumedBy === null) found.push({ runId, agent, pending })
      }
      if (page.length < PAGE) return found
      after = page.at(-1)?.[0]
    }
  }

  /**
   * Goes on with a run. Of several callers one does. What has no answer goes on waiting, as a new run.
   *
   * @throws HostError `RUN_NOT_WAITING` for a run that is not stored, or was resumed before; `REQUEST_INVALID` for an answer that
   *   does not fit; and as `host.run`
   */
  async resume(runId: string, answers: readonly PendingAnswer[], options: ResumeOptions = {}): Promise<RunResult> {
    const records = await this.#open()
    const row = await this.#claim(records, runId, answers)
    const { agent, trail, pending } = row
    const onEvent = async (event: RunEvent) => {
      if (event.type === 'tool_call') await this.#markBegun(records, row)
      await options.onEvent?.(event)
    }
    try {
      const turn = {
        ...row.options,
        ...options,
        pending,
        answers: answers.map((answer) => bind(answer, pending)),
        onEvent,
      }
      return await this.run(agent, trail.map(fromMessageJson), turn)
    } finally {
      await records.commit([[PREFIX + runId, undefined]])
    }
  }

  async #keep(agent: string, { runId, pending, trail }: RunResult, options: RunOptions): Promise<void> {
    const { instructions, user, metadata, input, requestOptions, clientTools, background } = options
    const row: Row = {
      version: ROW_VERSION,
      runId,
      agent,
      pending,
      trail: trail.map(toMessageJson),
      options: { instructions, user, metadata, input, requestOptions, clientTools, background },
      resumedBy: null,
      hasBegun: false,
    }
    await (await this.#open()).commit([[PREFIX + runId, JSON.stringify(row)]])
    for (const listener of this.#listeners) this.#tell(listener, { runId, agent, pending })
  }

  #tell(listener: (waiting: WaitingRun) => void, waiting: WaitingRun): void {
    try {
      listener(waiting)
    } catch (error) {
      this.#options.log.error(`A listener for waiting runs failed: ${messageOf(error)}`)
    }
  }

  /** A run whose server died before any approved call had begun may be resumed again. */
  async #claim(records: RecordStore, runId: string, answers: readonly PendingAnswer[]): Promise<Row> {
    const [text] = await records.get([PREFIX + runId])
    if (text === undefined) throw notWaiting(runId)
    const row = parseRow<Row>(runId, text)
    const { resumedBy, hasBegun } = row
    if (hasBegun || (resumedBy !== null && (await records.isServerAlive(resumedBy)))) throw notWaiting(runId)
    checkAnswers(row, answers)
    const claimed = { ...row, resumedBy: records.serverId }
    const change = [PREFIX + runId, JSON.stringify(claimed)] as const
    if (await records.commit([change], { equal: [[PREFIX + runId, text]] })) return claimed
    throw notWaiting(runId)
  }

  async #markBegun(records: RecordStore, row: Row): Promise<void> {
    await records.commit([[PREFIX + row.runId, JSON.stringify({ ...row, hasBegun: true })]])
  }

  #open(): Promise<RecordStore> {
    return this.#options.openRecords()
  }
}

function checkAnswers({ runId, pending }: WaitingRun, answers: readonly PendingAnswer[]): void {
  for (const answer of answers) {
    const asked = pending.find(({ callId }) => callId === answer.callId)
    const problem = asked ? findAnswerProblem(asked, answer) : `no call '${answer.callId}' waits for an answer.`
    if (problem !== undefined) throw new HostError('REQUEST_INVALID', `Run '${runId}': ${problem}`)
  }
  if (answers.length === 0) throw new HostError('REQUEST_INVALID', `Run '${runId}': no answer was given.`)
}

/** Binds a decision to the call as it was asked about, and adds the answers to earlier questions of the same call. */
function bind(answer: PendingAnswer, pending: readonly PendingCall[]): PendingAnswer {
  const asked = pending.find(({ callId }) => callId === answer.callId)
  return asked ? bindAnswer(answer, asked) : answer
}

function notWaiting(runId: string): HostError {
  return new HostError('RUN_NOT_WAITING', `No run '${runId}' waits here, or it was resumed before.`)
}
