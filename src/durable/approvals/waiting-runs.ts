import { HostError } from '../../errors.ts'
import type { AgentHost, ResumeOptions, RunOptions } from '../../host/host.ts'
import { Listeners } from '../../host/listeners.ts'
import { checkAnswers, type ResumableRun, toNextTurn, toResumableRun, type WaitingRun } from '../../host/waiting-run.ts'
import type { Log } from '../../protocols/log.ts'
import type { Message } from '../../protocols/message.ts'
import { fromMessageJson, type MessageJson, toMessageJson } from '../../run/attachment-json.ts'
import type { RunResult } from '../../run/turn.ts'
import type { PendingAnswer } from '../../run/waiting/pending-call.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { startTaken, TakenRow, type WaitingRow } from '../decisions/taken-row.ts'
import { parseRow, ROW_VERSION } from '../rows/parse-row.ts'
import { UnreadableRows } from '../rows/unreadable-rows.ts'

interface Row extends Omit<ResumableRun, 'trail'>, WaitingRow {
  readonly version: number
  readonly trail: readonly MessageJson[]
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
  readonly #unreadable: UnreadableRows
  readonly #onWaiting: Listeners<WaitingRun>

  constructor(options: WaitingRunsOptions) {
    this.#options = options
    this.#unreadable = new UnreadableRows(options.log)
    this.#onWaiting = new Listeners('waiting runs', options.log)
  }

  /** Calls `listener` with every run of this process that begins to wait, once it is stored. Returns a function that ends it. */
  onWaiting(listener: (waiting: WaitingRun) => void): () => void {
    return this.#onWaiting.add(listener)
  }

  /** Runs one turn to its end. A run that waits is stored before this returns. */
  async run(agent: string, input: string | readonly Message[], options: RunOptions = {}): Promise<RunResult> {
    const result = await this.#options.host.run(agent, input, options)
    if (result.status === 'waiting') await this.#keep(toResumableRun(agent, result, options))
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
        const row = await this.#unreadable.read(() => parseWaiting(key.slice(PREFIX.length), text))
        if (row?.resumedBy === null) found.push({ runId: row.runId, agent: row.agent, pending: row.pending })
      }
      if (page.length < PAGE) return found
      after = page.at(-1)?.[0]
    }
  }

  /**
   * Continues a run. Of several callers one does. What has no answer keeps waiting, as a new run. A run that is refused, or fails before
   * a call of it has begun, waits as before.
   *
   * @throws HostError `RUN_NOT_WAITING` for a run that is not stored, or was resumed before; `REQUEST_INVALID` for an answer that
   *   does not fit; and as `host.run`
   */
  async resume(runId: string, answers: readonly PendingAnswer[], options: ResumeOptions = {}): Promise<RunResult> {
    const records = await this.#open()
    const [text] = await records.get([PREFIX + runId])
    if (text === undefined) throw notWaiting(runId)
    const row = parseWaiting(runId, text)
    checkAnswers(row, answers)
    const waiting = { ...row, trail: row.trail.map(fromMessageJson) }
    const { host } = this.#options
    const reservation = host.reserve(row.agent, row.options.background === true)
    try {
      await reservation.vary(row.options.variant)
      reservation.check(toNextTurn(waiting, answers))
      const taken = await TakenRow.take(records, [PREFIX + runId, text], row)
      if (!taken) throw notWaiting(runId)
      const keep = async (result: RunResult) => {
        if (result.status === 'waiting') await this.#keep(toResumableRun(row.agent, result, row.options))
      }
      const start = startTaken(taken, reservation.start, keep)
      return await host.resume(waiting, answers, options, { ...reservation, start })
    } finally {
      reservation.release()
    }
  }

  async #keep(waiting: ResumableRun): Promise<void> {
    const { runId, agent, pending } = waiting
    const trail = waiting.trail.map(toMessageJson)
    const row: Row = { ...waiting, trail, version: ROW_VERSION, resumedBy: null }
    await (await this.#open()).commit([[PREFIX + runId, JSON.stringify(row)]])
    this.#onWaiting.tell({ runId, agent, pending })
  }

  #open(): Promise<RecordStore> {
    return this.#options.openRecords()
  }
}

function parseWaiting(id: string, text: string): Row {
  return parseRow<Row>(id, text, { runId: 'string', agent: 'string', pending: 'array', trail: 'array' })
}

function notWaiting(runId: string): HostError {
  return new HostError('RUN_NOT_WAITING', `No run '${runId}' waits here, or it was resumed before.`)
}
