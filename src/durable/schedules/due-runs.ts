import { HostError } from '../../errors.ts'
import { type AgentHost, VISITS } from '../../host/host.ts'
import { enqueueRequest, type OwnRequest } from '../adapter-runs/enqueue-request.ts'
import { makeAdapterRuns } from '../adapter-runs/tenant-runs.ts'
import { toInput } from '../adapter-runs/to-input.ts'
import type { ConversationRecord } from '../conversations/conversation-store.ts'
import { conversationIdFor } from '../conversations/named-conversation.ts'
import { RequestRepeated, untilClaimed } from '../decisions/until-claimed.ts'
import type { DurableRuns } from '../durable-runs.ts'
import { readRequest } from '../idempotency/idempotent-requests.ts'
import { undefinedIfDamaged } from '../rows/parse-row.ts'
import type { RunService } from '../run-service.ts'
import {
  type AgentSchedule,
  dueHash,
  type ReadSchedule,
  readSchedule,
  replaceSchedule,
  type ScheduleRow,
  scheduleKey,
  withNews,
  withOutcome,
} from './schedule-row.ts'

export interface DueRunsOptions {
  readonly host: AgentHost
  readonly service: RunService
}

/** Run of a due time, and what is stored with it. */
interface DueRun extends Pick<OwnRequest, 'id' | 'idempotency' | 'claim'> {
  readonly due: number
}

/** Name under which runs of schedules are stored. */
export const SCHEDULE = 'schedule'
/** Number of attempts at a change that other servers may prevent by being quicker. */
const MAX_ATTEMPTS = 10
/** More runs than decisions continue one after another. */
const MAX_CONTINUED = 100

/** Runs that schedules begin, and the state of the schedules. */
export class DueRuns {
  readonly #options: DueRunsOptions

  constructor(options: DueRunsOptions) {
    this.#options = options
  }

  async read(schedule: AgentSchedule): Promise<ReadSchedule> {
    const { records } = await this.#of(schedule)
    const [text] = await records.get([scheduleKey(schedule)])
    return readSchedule(schedule, text)
  }

  /** @returns false when another server was quicker */
  async replace(schedule: AgentSchedule, read: ReadSchedule, row: ScheduleRow | undefined): Promise<boolean> {
    const { records } = await this.#of(schedule)
    const { changes, ...guards } = replaceSchedule(schedule, read, row)
    return records.commit(changes, guards)
  }

  /** Changes the state of a schedule, if there is one. */
  async update(schedule: AgentSchedule, change: (read: ReadSchedule) => ScheduleRow | undefined): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const read = await this.read(schedule)
      if (read.text === undefined || (await this.replace(schedule, read, change(read)))) return
    }
  }

  /** Returns why a schedule cannot begin a run at this moment; undefined when it can. */
  async findObstacle(schedule: AgentSchedule, { run }: ScheduleRow): Promise<string | undefined> {
    if (run !== undefined && (await this.#stateOf(schedule, run)) === 'going') return 'The run before goes on.'
    const last = (await this.#conversationOf(schedule))?.head
    const state = last == null ? 'over' : await this.#stateOf(schedule, last)
    if (state === 'going') return `The conversation '${schedule.conversation}' is in use.`
    if (state === 'waits') return `Something waits for a decision in the conversation '${schedule.conversation}'.`
    return undefined
  }

  /**
   * Begins the run of a due time.
   *
   * @returns its id; undefined when another server was quicker
   * @throws HostError as `TenantRuns.start`
   */
  async start(schedule: AgentSchedule, read: ReadSchedule, due: number): Promise<string | undefined> {
    const { service } = this.#options
    const id = service.ids.next()
    const row = withOutcome(read.row, schedule, { due, run: id })
    const others = { ...row, queued: row.queued.filter((other) => other !== due) }
    const idempotency = { hash: dueHash(schedule, due), body: '', atMs: Date.now() }
    try {
      await this.#enqueue(schedule, { id, due, idempotency, claim: replaceSchedule(schedule, read, others) })
      return id
    } catch (error) {
      if (!(error instanceof RequestRepeated)) throw error
    }
    const { records } = await this.#of(schedule)
    // It has made its run under another rule, or before a clock was set back.
    const isMade = (await readRequest(records, idempotency.hash)) !== undefined
    if (isMade) await this.replace(schedule, read, { ...others, run: read.row.run, outcomes: read.row.outcomes })
    return undefined
  }

  /**
   * Begins a run now, beside the due times.
   *
   * @returns its id
   * @throws HostError as {@link start}; `RESPONSE_CONFLICT` while the run before goes on, or something waits in the conversation
   */
  async startNow(schedule: AgentSchedule): Promise<string> {
    return untilClaimed(async () => {
      const read = await this.read(schedule)
      const obstacle = await this.findObstacle(schedule, read.row)
      if (obstacle)
        throw new HostError('RESPONSE_CONFLICT', `No run of '${schedule.agent}/${schedule.id}' begins: ${obstacle}`)
      const [id, due] = [this.#options.service.ids.next(), Date.now()]
      const claim = replaceSchedule(schedule, read, withNews(read.row, { due, run: id }))
      await this.#enqueue(schedule, { id, due, claim })
      return id
    })
  }

  /** @throws RequestRepeated when another server was quicker */
  async #enqueue(schedule: AgentSchedule, { due, ...more }: DueRun): Promise<void> {
    const { service, host } = this.#options
    const { agent, key } = schedule
    const data = { schedule: schedule.id, due: new Date(due).toISOString() }
    const named = await this.#conversationOf(schedule)
    const input = toInput(host.resolve(agent).agent, schedule.input)
    const request = { agent, ...input, metadata: data, data, named, key, ...more }
    const runs = await this.#of(schedule)
    await host[VISITS].onBehalf(runs.tenant, key, () =>
      enqueueRequest({ service, host, adapter: SCHEDULE }, runs, request),
    )
  }

  async #of({ tenant = '' }: AgentSchedule): Promise<DurableRuns> {
    return (await this.#options.service.open()).of(tenant)
  }

  async #conversationOf(schedule: AgentSchedule): Promise<ConversationRecord | undefined> {
    const { conversation, agent } = schedule
    if (conversation === undefined) return undefined
    const { conversations } = await this.#of(schedule)
    const id = conversationIdFor('schedule', agent, conversation)
    return conversations.findOrCreate(id, { agent, name: conversation })
  }

  /** Finds out whether a run, or the one that continues it after a decision, still goes on. */
  async #stateOf({ tenant = '' }: AgentSchedule, runId: string): Promise<'going' | 'waits' | 'over'> {
    const { service, host } = this.#options
    const own = makeAdapterRuns(service, host, SCHEDULE).of(tenant)
    for (let id = runId, count = 0; count < MAX_CONTINUED; count++) {
      const info = await own.find(id).catch(undefinedIfDamaged)
      if (info?.continuedBy) id = info.continuedBy
      else if (info?.status === 'queued' || info?.status === 'in_progress') return 'going'
      else return info?.status === 'waiting' ? 'waits' : 'over'
    }
    return 'over'
  }
}
