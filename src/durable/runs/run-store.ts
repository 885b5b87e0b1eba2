import { nowSeconds } from '../../now-seconds.ts'
import type { Message } from '../../protocols/message.ts'
import type { PendingAnswer } from '../../run/waiting/pending-call.ts'
import { appendLog, removeLog } from '../../store/record-log.ts'
import type { Change, Guards, RecordStore } from '../../store/record-store.ts'
import { type Approvals, claimOf, closeOpen } from '../approvals/approvals.ts'
import type { ConversationStore } from '../conversations/conversation-store.ts'
import {
  detach,
  findRemoval,
  type LoadedConversation,
  type LoadOptions,
  linkChanges,
  listNextTurns,
  loadConversation,
  loadTurn,
  newBytesOf,
  readAnswers,
  readMessages,
  removeForgottenTurns,
  type StoredTurn,
  type TurnOutcome,
  turnKey,
} from '../conversations/conversation-tree.ts'
import { parseItems } from '../conversations/item-bytes.ts'
import { type NewBytes, removeBytes, writeBytes } from '../conversations/turn-bytes.ts'
import { type Claim, joinClaims } from '../decisions/claim.ts'
import { giveBack, hasFailedUnacted, type TakenDecisions } from '../decisions/resumption.ts'
import type { Taken } from '../decisions/start-taken.ts'
import { untilClaimed } from '../decisions/until-claimed.ts'
import { requestChanges, requestKey } from '../idempotency/idempotent-requests.ts'
import { undefinedIfDamaged } from '../rows/parse-row.ts'
import type { Outbox } from '../webhooks/outbox.ts'
import { claimContinued, giveBackContinued, readContinued } from './continued-mark.ts'
import { JoinedReads } from './joined-reads.ts'
import { listKeysOfRun } from './keys-of-run.ts'
import { LargeRuns } from './large-runs.ts'
import type { RunFacts } from './run-facts.ts'
import { RUN_PREFIX } from './run-ids.ts'
import {
  changeTopic,
  outcomeTopic,
  QUEUE_TOPIC,
  queuedKey,
  RUNS,
  RUNS_DELETED,
  rowKey,
  runningKey,
  stepsLog,
  topicsOf,
} from './run-keys.ts'
import { parseOwner, writeOwner } from './run-marks.ts'
import {
  beginChanges,
  type Draft,
  type Ending,
  type EndingRun,
  endChanges,
  endOf,
  endTurn,
  locateItems,
  type PersistedRun,
  parseRunRow,
  type RunRow,
  rowChange,
  toRows,
} from './run-row.ts'
import { type EndStep, isEnd, packSteps, type Step, unpackSteps } from './steps.ts'
import { readSteps, type StoredSteps } from './stored-steps.ts'
import { unmarkWaiting } from './waiting-mark.ts'

/** Run as it was read. */
export interface StoredRun {
  readonly id: string
  readonly facts: RunFacts
  /** All so far; the last is the end unless the run is still going. */
  readonly steps: readonly Step[]
  /** Number of its input items. */
  readonly inputs: number
  readonly items: readonly unknown[] | undefined
  /** Number of batches in which the steps of a run in progress are stored. */
  readonly batches: number
  /** True while it waits for a worker. */
  readonly isQueued: boolean
  /** Length of the row of a large run that has ended: those who read it at the same time share its steps. */
  readonly largeLength?: number
}

/** Run of this server. */
export interface OwnedRun extends PersistedRun {
  /** Its mark in the store. A server that finds another mark, or none, no longer owns the run and writes nothing. */
  readonly mark: string
}

export interface RunRange {
  readonly limit: number
  readonly order?: 'asc' | 'desc'
  /** Exclusive. */
  readonly after?: string | undefined
  /** Exclusive. */
  readonly before?: string | undefined
}

/** Runs with their input items, their part of the conversation and their steps, in a store of records. */
export class RunStore {
  readonly #records: RecordStore
  /** Mark of the runs that this server begins without a queue. */
  readonly #mark: string
  readonly #outbox: Outbox | undefined
  readonly #approvals: Approvals
  readonly #conversations: ConversationStore
  readonly #large = new LargeRuns<StoredRun>()
  readonly #reads = new JoinedReads((id) => this.#get(id))
  readonly #cancels = new JoinedReads((id) => this.#cancel(id))

  /** @param records of the tenant, as those of the others */
  constructor(records: RecordStore, approvals: Approvals, conversations: ConversationStore, outbox?: Outbox) {
    this.#records = records
    this.#approvals = approvals
    this.#conversations = conversations
    this.#outbox = outbox
    this.#mark = writeOwner(records.serverId)
  }

  conversation(id: string, options?: LoadOptions): Promise<LoadedConversation | undefined> {
    return loadConversation(this.#records, id, options)
  }

  /**
   * Returns the run that continues one without approvals: the one that claimed it, otherwise the first that needed no claim. Null for one
   * that was cancelled; undefined if none does, or it has given the claim back.
   */
  async nextOf(id: string): Promise<string | null | undefined> {
    const claimed = await readContinued(this.#records, id)
    if (claimed !== undefined) return claimed
    for (const next of await listNextTurns(this.#records, id)) {
      const row = next.startsWith(RUN_PREFIX) ? await this.#row(next) : undefined
      if (row && row.resumes?.runId !== id) return next
    }
    return undefined
  }

  /**
   * Has nothing continue a run that waits for its client alone: it is cancelled.
   *
   * @returns false when another run continues it already
   */
  async closeWaiting(id: string): Promise<boolean> {
    const { changes, absent } = claimContinued(id, null)
    if (await this.#records.commit(changes, { absent, present: [rowKey(id)] })) return true
    return (await readContinued(this.#records, id)) === null
  }

  /** Messages of one turn, with their bytes. */
  messagesOf(turn: StoredTurn): Promise<Message[]> {
    return readMessages(this.#records, turn)
  }

  /** Answers with which the run of a turn goes on, with their bytes; undefined for a run that begins with a message. */
  answersOf(turn: StoredTurn): Promise<PendingAnswer[] | undefined> {
    return readAnswers(this.#records, turn)
  }

  /**
   * Stores a run of this server for the first time: one that goes on, or one that has ended already.
   *
   * @param attempt 1 for a run that may begin again on another server
   * @returns undefined when another request with the same idempotency key was first
   */
  async create(
    draft: Draft,
    steps: readonly Step[],
    outcome?: TurnOutcome,
    attempt = 0,
  ): Promise<OwnedRun | undefined> {
    const { id } = draft
    const mark = attempt === 0 ? this.#mark : writeOwner(this.#records.serverId, attempt)
    const isEnded = isEnd(steps.at(-1))
    const begun = draft.makeTurn()
    const turn = isEnded ? endTurn(begun, { steps, outcome }) : begun
    const created = await this.#create(draft, turn, (run) => {
      if (isEnded) return [...endChanges(run, { steps, outcome }), ...this.#eventOf(run, steps, outcome)]
      const first = steps.length === 0 ? [] : [appendLog(stepsLog(id), 0, JSON.stringify(steps))]
      return [[runningKey(id), mark], ...first, ...beginChanges(run)]
    })
    return created && { ...created, mark }
  }

  /**
   * Stores a run that waits for a worker.
   *
   * @param queueing changes that put it into the queue
   * @returns undefined when another request with the same idempotency key was first
   */
  async enqueue(draft: Draft, queueing: readonly Change[]): Promise<StoredRun | undefined> {
    const changes = (run: PersistedRun) => [...queueing, ...beginChanges(run)]
    const created = await this.#create(draft, draft.makeTurn(), changes, [QUEUE_TOPIC])
    if (!created) return undefined
    const { id, facts, inputs, items } = created.row
    return { id, facts, inputs, items, steps: [], batches: 0, isQueued: true }
  }

  async #create(
    draft: Draft,
    turn: StoredTurn,
    describe: (run: PersistedRun) => readonly Change[],
    notify: readonly string[] = [],
  ): Promise<PersistedRun | undefined> {
    const { id, earlier, idempotency, claim } = draft
    const equal = claim?.equal ?? []
    const previous = turn.previous_response_id
    const absent = [...(idempotency ? [requestKey(idempotency.hash)] : []), ...(claim?.absent ?? [])]
    const present = previous === null ? [] : [turnKey(previous)]
    const { row, itemRows, bytes } = toRows(draft, turn)
    const around = [...itemRows, ...(idempotency ? requestChanges(idempotency, id) : []), ...(claim?.changes ?? [])]
    const changes = (turn: StoredTurn) => [...around, ...linkChanges(turn), ...describe({ row, turn })]
    await writeBytes(this.#records, bytes)
    if (await this.#approvals.commit({ changes: changes(turn), present, absent, equal }, notify)) return { row, turn }
    if (previous === null || (await loadTurn(this.#records, previous))) return this.#forgetBytes(bytes)
    // The run that this one continues was deleted meanwhile: its messages belong to this one now.
    const alone = detach(turn, earlier)
    const all = [...bytes, ...newBytesOf(alone)]
    await writeBytes(this.#records, all)
    const isCreated = await this.#approvals.commit({ changes: changes(alone), absent, equal }, notify)
    return isCreated ? { row, turn: alone } : this.#forgetBytes(all)
  }

  /** Removes these alone: another run may be stored under the same id, with bytes of its own. */
  async #forgetBytes(bytes: readonly NewBytes[]): Promise<undefined> {
    for (const { id } of bytes) await this.#records.commit(await removeBytes(this.#records, id))
  }

  /**
   * Adds steps to a run of this server.
   *
   * @param batch how many times that was done before, counting from the creation
   * @returns false when it is not this server's any more: it was cancelled, deleted, ended or begun again by another
   */
  append(run: OwnedRun, batch: number, steps: readonly Step[]): Promise<boolean> {
    const { id } = run.row
    const entry = appendLog(stepsLog(id), batch, JSON.stringify(steps))
    return this.#records.commit([entry], ownedGuards(run), [changeTopic(id)])
  }

  /**
   * Ends a run of this server.
   *
   * @returns false when it is not this server's any more
   */
  finish(run: OwnedRun, ending: Ending): Promise<boolean> {
    return this.#finish(run, ending, ownedGuards(run), [changeTopic(run.row.id)])
  }

  async #finish(
    run: EndingRun,
    { batches = 0, ...ending }: Ending,
    guards: Guards,
    notify: readonly string[],
  ): Promise<boolean> {
    const { id, facts } = run.row
    const turn = run.turn && endTurn(run.turn, ending)
    if (turn) await writeBytes(this.#records, newBytesOf(turn))
    const log = stepsLog(id)
    const marks = [runningKey(id), ...(facts.options.background ? [queuedKey(id)] : [])]
    const removals = [...marks.map((key): Change => [key, undefined]), ...removeLog(log, batches)]
    const absent = [appendLog(log, batches, '')[0]]
    const event = this.#eventOf(run, ending.steps, ending.outcome)
    const changes = [...endChanges({ row: run.row, turn }, ending), ...removals, ...event]
    const back = await this.#giveBack(run, ending)
    if (back) {
      const equal = [...(guards.equal ?? []), ...back.equal]
      const all = { changes: [...changes, ...back.changes], ...guards, absent, equal }
      // Otherwise what it took may have been deleted at this moment.
      if (await this.#approvals.commit(all, notify)) return true
    }
    return this.#approvals.commit({ changes, ...guards, absent }, notify)
  }

  /** Changes that tell webhooks of the end of a run. */
  #eventOf({ row: { id, facts } }: Pick<EndingRun, 'row'>, steps: readonly Step[], outcome?: TurnOutcome): Change[] {
    return this.#outbox?.ofEnd({ id, ...facts }, steps, outcome) ?? []
  }

  /** Gives back the decisions of a run that fails before a call of it may have begun. */
  async #giveBack({ row: { id, resumes }, turn }: EndingRun, { steps }: Ending): Promise<Claim | undefined> {
    if (!resumes || !hasFailedUnacted(steps)) return undefined
    const named = turn && (await this.#conversations.giveBack(turn))
    return joinClaims(await this.#giveBackTaken(resumes, id), named)
  }

  /** Has the calls wait again that a run took; nothing where they are gone. */
  async #giveBackTaken(taken: TakenDecisions, id: string): Promise<Claim | undefined> {
    const approvals = await this.#approvals.ofRun(taken.runId)
    if (approvals.length > 0) return giveBack(approvals, taken, id)
    const isContinued = (await readContinued(this.#records, taken.runId)) === id
    return isContinued ? giveBackContinued(taken, id) : undefined
  }

  /**
   * Returns the stored data of a run except its steps.
   *
   * @throws HostError `RECORD_UNREADABLE`
   */
  async load(id: string): Promise<PersistedRun | undefined> {
    const [row, turn] = await Promise.all([this.#row(id), loadTurn(this.#records, id)])
    return row && turn && { row: withoutSteps(row), turn }
  }

  /** As `load`, also for a run whose turn is damaged: it ends without it. */
  async #loadToEnd(id: string): Promise<(EndingRun & { readonly hasEnded: boolean }) | undefined> {
    const [row, turn] = await Promise.all([this.#row(id), loadTurn(this.#records, id).catch(undefinedIfDamaged)])
    return row && { row: withoutSteps(row), turn, hasEnded: endOf(row) !== undefined }
  }

  /**
   * Reads how a run was begun, and its end; undefined while it goes on.
   *
   * @throws HostError `RECORD_UNREADABLE`
   */
  async state(id: string): Promise<{ readonly facts: RunFacts; readonly end: EndStep | undefined } | undefined> {
    const row = await this.#row(id)
    return row && { facts: row.facts, end: endOf(row) }
  }

  /** @throws HostError `RECORD_UNREADABLE` */
  get(id: string): Promise<StoredRun | undefined> {
    return this.#reads.get(id)
  }

  async #get(id: string): Promise<StoredRun | undefined> {
    const [text, queued] = await this.#records.get([rowKey(id), queuedKey(id)])
    if (text === undefined) return undefined
    const large = this.#large.find(id, text)
    if (large) return large
    const row = parseRunRow(id, text)
    const { facts, inputs, items } = row
    const ended = { id, facts, steps: unpackSteps(row), inputs, items, batches: 0, isQueued: false }
    if (endOf(row)) return this.#large.add(ended, text)
    const { steps, batches } = await this.readSteps(id)
    // It may have ended between the two reads, and its batches be gone.
    if (steps.length === 0 && (await this.#hasEnded(id))) return this.#get(id)
    return { id, facts, steps, inputs, items, batches, isQueued: queued !== undefined }
  }

  async #hasEnded(id: string): Promise<boolean> {
    const row = await this.#row(id)
    return row === undefined || endOf(row) !== undefined
  }

  /** Reads the steps of a run in progress. */
  readSteps(id: string): Promise<StoredSteps> {
    return readSteps(this.#records, id)
  }

  /**
   * Calls back when another request may have ended or deleted a run.
   *
   * @returns a function that ends it
   */
  watchOutcome(id: string, onNotice: () => void): () => void {
    return this.#records.watch([outcomeTopic(id)], onNotice)
  }

  /**
   * Ends a run on behalf of its server. An ended run does not change.
   *
   * @param mark of the owner: a run that has another by now stays as it is, too
   * @returns the updated run; undefined if it does not exist
   * @throws HostError `RESPONSE_CONFLICT` while others change it all the time
   */
  async end(id: string, end: EndStep, mark?: string): Promise<StoredRun | undefined> {
    const { run } = await untilClaimed(async () => {
      const [run, [running, queued]] = await Promise.all([
        this.#loadToEnd(id),
        this.#records.get([runningKey(id), queuedKey(id)]),
      ])
      if (!run) return { run }
      if (run.hasEnded || (mark !== undefined && mark !== running)) return { run: await this.get(id) }
      const { steps, batches } = await readSteps(this.#records, id, { isEnding: true })
      const guards = guardsOfState(id, { running, queued, mark })
      // Otherwise its server was faster, or is starting it: look again.
      const isEnded = await this.#finish(run, { steps: [...steps, end], batches }, guards, topicsOf(id))
      return isEnded ? { run: await this.get(id) } : undefined
    }, `The run '${id}' changes`)
    return run
  }

  /**
   * Cancels a run, also one that has ended: it keeps its steps, and what it waits for is closed in the same commit.
   * One request of a server at a time: each has the whole run in memory, and another's commit would have it read again.
   *
   * @throws HostError `RESPONSE_CONFLICT` while others change it all the time
   */
  cancel(id: string): Promise<StoredRun | undefined> {
    return this.#cancels.get(id)
  }

  async #cancel(id: string): Promise<StoredRun | undefined> {
    const end: EndStep = { end: 'cancelled', at: nowSeconds() }
    const ended = await this.end(id, end)
    const last = ended?.steps.at(-1)
    if (!ended || (isEnd(last) && last.end === 'cancelled')) return ended
    await untilClaimed(async () => {
      const [[text], open] = await Promise.all([this.#records.get([rowKey(id)]), this.#approvals.ofRun(id)])
      if (text === undefined) return true
      const row = parseRunRow(id, text)
      if (endOf(row)?.end === 'cancelled') return true
      const { changes, equal } = claimOf(open, closeOpen(open, 'cancelled'))
      const steps = [...unpackSteps(row), end]
      const event = this.#eventOf({ row }, steps)
      const all = [rowChange({ ...row, ...packSteps(steps) }), unmarkWaiting(id), ...changes, ...event]
      const seen = [...equal, [rowKey(id), text] as const]
      // Otherwise a decision, or another cancellation, was quicker: look again.
      return (await this.#approvals.commit({ changes: all, equal: seen })) || undefined
    }, `The run '${id}' changes`)
    return this.get(id)
  }

  /** @returns the items from one index (inclusive) to another (exclusive), oldest first */
  async items({ id, items }: StoredRun, from: number, to: number): Promise<unknown[]> {
    if (items) return items.slice(from, to)
    const { keys, firstIndex } = locateItems(id, from, to)
    const rows = await this.#records.get(keys)
    const read: unknown[] = []
    for (const text of rows) if (text !== undefined) read.push(...(await parseItems(this.#records, id, text)))
    return read.slice(from - firstIndex, to - firstIndex)
  }

  /**
   * Deletes a run, also one whose row cannot be read.
   *
   * @returns false if it does not exist
   */
  async delete(id: string): Promise<boolean> {
    const [text] = await this.#records.get([rowKey(id)])
    if (text === undefined) return false
    const keys = await listKeysOfRun(id, text, this.#records, this.#approvals)
    const changes = keys.map((key): Change => [key, undefined])
    const present = [rowKey(id)]
    const topics = [...topicsOf(id), RUNS_DELETED]
    const turn = await findRemoval(this.#records, id)
    const all = turn && { changes: [...changes, ...turn.changes], present, absent: turn.absent }
    // In one commit: between two, a server that dies would leave the text without its run.
    const isWhole = all !== undefined && (await this.#approvals.commit(all, topics))
    // Otherwise another turn continues this one, which stays.
    if (!isWhole && !(await this.#approvals.commit({ changes, present }, topics))) return false
    await removeForgottenTurns(this.#records, isWhole ? (turn?.previousId ?? null) : id, (other) => this.has(other))
    return true
  }

  async has(id: string): Promise<boolean> {
    return (await this.#records.get([rowKey(id)]))[0] !== undefined
  }

  /** Ids of the stored runs. */
  async list({ limit, order, after, before }: RunRange): Promise<string[]> {
    const keys = await this.#records.list({
      prefix: RUNS,
      limit,
      order,
      after: after && RUNS + after,
      before: before && RUNS + before,
    })
    return keys.map((key) => key.slice(RUNS.length))
  }

  /**
   * Those of the runs whose mark is another's by now, or gone: they were ended, deleted, or begun again.
   *
   * @param marks of the owners, by run
   */
  async filterLost(marks: ReadonlyMap<string, string>): Promise<string[]> {
    const ids = [...marks.keys()]
    const now = await this.#records.get(ids.map(runningKey))
    return ids.filter((id, index) => now[index] !== marks.get(id))
  }

  /**
   * Takes decisions for a run of this server that is not stored: only its mark is, until it spends them or gives them back. Where the server
   * dies before that, recovery gives them back.
   *
   * @returns undefined when another was quicker
   */
  async take(id: string, { changes, ...guards }: Claim, resumes: TakenDecisions): Promise<Taken | undefined> {
    const mark = [runningKey(id), writeOwner(this.#records.serverId, 0, resumes)] as const
    if (!(await this.#approvals.commit({ changes: [mark, ...changes], ...guards }))) return undefined
    let isSpent = false
    return {
      spend: async () => {
        if (isSpent) return
        isSpent = await this.#records.commit([[mark[0], undefined]], { equal: [mark] })
        if (!isSpent) throw new Error('Another server has given the decisions back.')
      },
      giveBack: async () => {
        if (!isSpent) await this.unmark(id)
      },
    }
  }

  /** Removes the mark of a run of which nothing else is stored; decisions that it took are given back. */
  async unmark(id: string): Promise<void> {
    const key = runningKey(id)
    const [mark] = await this.#records.get([key])
    if (mark === undefined) return
    const { resumes } = parseOwner(mark)
    const back = resumes && (await this.#giveBackTaken(resumes, id))
    const equal = [[key, mark] as const, ...(back?.equal ?? [])]
    const changes: Change[] = [[key, undefined], ...(back?.changes ?? [])]
    await this.#approvals.commit({ changes, absent: [rowKey(id)], equal })
  }

  async #row(id: string): Promise<RunRow | undefined> {
    const [text] = await this.#records.get([rowKey(id)])
    return text === undefined ? undefined : parseRunRow(id, text)
  }
}

function withoutSteps({ steps: _steps, text: _text, ...row }: RunRow) {
  return row
}

/** A server that was paused, and whose run was ended or given to another meanwhile, writes nothing. */
function ownedGuards({ row, mark }: OwnedRun): Guards {
  return { equal: [[runningKey(row.id), mark]] }
}

/** Marks of a run at the time of a look. */
interface Marks {
  readonly running: string | undefined
  readonly queued: string | undefined
  /** Mark of the owner that is ended. */
  readonly mark: string | undefined
}

/** Guards against a server that has begun the run, or begun it again, since it was read. */
function guardsOfState(id: string, { running, queued, mark }: Marks): Guards {
  if (queued !== undefined) return { equal: [[queuedKey(id), queued]] }
  return mark === undefined || running === undefined
    ? { present: [runningKey(id)] }
    : { equal: [[runningKey(id), mark]] }
}
