import { settlesWithin } from '../../../async.ts'
import type { RunNotes } from '../../../durable/idempotency/run-notes.ts'
import type { RunService } from '../../../durable/run-service.ts'
import { messageOf } from '../../../errors.ts'
import type { Log } from '../../../protocols/log.ts'
import { RecentlyUsed } from '../../../recently-used.ts'
import type { RunResult, Turn } from '../../../run/turn.ts'
import { isClientCall } from './completion.ts'

const LIMITS = { maxItems: 10_000, maxBytes: 8 * 1024 * 1024 }
/** Part of a question that tells conversations apart in which a model repeats the id of a call. */
const QUESTION_LENGTH = 100
/** Time that a run waits for the store to say which one it follows. */
const MAX_WAIT_MS = 1000

export interface HandedCallsOptions {
  readonly durableRuns: Pick<RunService, 'hasStore' | 'open'>
  readonly log: Log
}

type Asked = Pick<Turn, 'tenant' | 'messages'>

/**
 * Runs that handed calls to their clients, by these calls: the run that gets the outputs belongs to the same conversation in traces.
 * Other servers, and later ones, know them where there is a store. A run does without where the store does not answer.
 */
export class HandedCalls {
  readonly #options: HandedCallsOptions
  readonly #runs = new RecentlyUsed<string>({ ...LIMITS, bytesOf: (runId) => runId.length + 2 * QUESTION_LENGTH })

  constructor(options: HandedCallsOptions) {
    this.#options = options
  }

  /** Keeps the run of the calls. They are stored while the answer is sent. */
  note(agent: string, turn: Asked, { runId, pending }: Pick<RunResult, 'runId' | 'pending'>): void {
    const calls = pending.filter(isClientCall)
    if (calls.length === 0) return
    const texts = calls.map(({ callId }) => toText(agent, turn, callId))
    for (const text of texts) this.#runs.set(keyOf(turn, text), runId)
    if (this.#options.durableRuns.hasStore) void this.#use(turn, (notes) => notes.add(texts, runId))
  }

  /** Returns the run whose calls the conversation ends with the outputs of; undefined where it is not known. */
  find(agent: string, turn: Asked): string | undefined | Promise<string | undefined> {
    const last = turn.messages.at(-1)
    if (last?.role !== 'tool') return undefined
    const text = toText(agent, turn, last.toolCallId)
    const known = this.#runs.get(keyOf(turn, text))
    return known === undefined && this.#options.durableRuns.hasStore ? this.#find(turn, text) : known
  }

  async #find(turn: Asked, text: string): Promise<string | undefined> {
    let found: string | undefined
    const finding = this.#use(turn, async (notes) => {
      found = await notes.find(text)
    })
    await settlesWithin(finding, MAX_WAIT_MS)
    return found
  }

  async #use({ tenant = '' }: Asked, work: (notes: RunNotes) => Promise<void>): Promise<void> {
    const { durableRuns, log } = this.#options
    try {
      const runs = await durableRuns.open()
      await work(runs.of(tenant).notes)
    } catch (error) {
      log.warn(`A run is not linked to the one whose calls its client answers: ${messageOf(error)}`)
    }
  }
}

function keyOf({ tenant }: Asked, text: string): string {
  return JSON.stringify([tenant, text])
}

/** Text that the requests before and after a call of the client have in common. */
function toText(agent: string, { messages }: Asked, callId: string): string {
  const question = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  return JSON.stringify([agent, callId, question.slice(0, QUESTION_LENGTH)])
}
