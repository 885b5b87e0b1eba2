import { forEachConcurrent } from '../../async.ts'
import type { FindDue } from '../../definition/due-times.ts'
import { HostError, LimitReached, messageOf } from '../../errors.ts'
import type { AgentHost } from '../../host/host.ts'
import type { Log } from '../../protocols/log.ts'
import type { RunService } from '../run-service.ts'
import { DueRuns } from './due-runs.ts'
import { listSchedules } from './list-schedules.ts'
import {
  type AgentSchedule,
  type DueOutcome,
  type ReadSchedule,
  ruleOf,
  scheduleKey,
  withCursor,
  withOutcome,
} from './schedule-row.ts'

export interface SchedulesOptions {
  readonly host: AgentHost
  readonly service: RunService
  readonly log: Log
  readonly findDue: FindDue
  /** Clock in Unix milliseconds. Default: that of the system. */
  readonly now?: () => number
}

const TICK_MS = 1000
/** A due time that is found later than this was missed. */
const LATE_MS = 60_000
/** A cursor that is farther ahead was written by a clock that was wrong. */
const AHEAD_MS = 3_600_000
/** Interval at which each server looks for due times that wait in the queues of schedules. */
const QUEUES_EVERY_TICKS = 5
const MAX_QUEUED = 100
/** Number of attempts at a change that other servers may prevent by being quicker. */
const MAX_ATTEMPTS = 10
/** Codes of errors after which a due time is not tried again. */
const SPENT: ReadonlySet<string> = new Set(['REQUEST_INVALID', 'KEY_MISSING'])

/** A schedule as this server knows it. */
interface Followed {
  readonly schedule: AgentSchedule
  /** Undefined until its row was read, and where nothing more is due. */
  nextMs?: number | undefined
  isRead?: boolean
  /** Last due time that this server knows to be dealt with. */
  cursor?: number
  /** Due time that was found in time, and may not be dealt with yet. */
  seen?: number
  /** Last failure: one that repeats is said once. */
  error?: string | undefined
}

/** Begins the runs of schedules at their due times. Of several servers one begins each: the run and the state of the schedule are one commit. */
export class Schedules {
  readonly #options: SchedulesOptions
  readonly #runs: DueRuns
  readonly #now: () => number
  #followed = new Map<string, Followed>()
  /** Schedules whose state is still to be removed. */
  readonly #gone = new Map<string, Followed>()
  #ticks = 0
  #timer: NodeJS.Timeout | undefined
  #working: Promise<void> | undefined
  #unfollow = () => {}

  constructor(options: SchedulesOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#runs = new DueRuns(options)
  }

  start(): void {
    this.#timer = setInterval(() => void this.tick(), TICK_MS).unref()
    this.#unfollow = this.#options.host.onChange(() => this.#follow())
    this.#follow()
    void this.tick()
  }

  /** Begins nothing more. */
  async stop(): Promise<void> {
    this.#unfollow()
    clearInterval(this.#timer)
    await this.#working
  }

  /** Deals with what is due. One look at a time. */
  async tick(): Promise<void> {
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined
    })
    await this.#working
  }

  /** An edit, or the removal of a file, holds from then on. */
  #follow(): void {
    const before = this.#followed
    const now = listSchedules(this.#options.host).map((schedule) => [nameOf(schedule), schedule] as const)
    this.#followed = new Map(now.map(([name, schedule]) => [name, { ...before.get(name), schedule }]))
    for (const [name, followed] of before) this.#gone.set(name, followed)
    for (const name of this.#followed.keys()) this.#gone.delete(name)
  }

  /** Removes a rule from the state of a schedule, and the state with its last: if it is put back into the file, it starts from scratch. */
  async #forget(name: string, followed: Followed): Promise<void> {
    const { schedule } = followed
    try {
      await this.#runs.update(schedule, ({ row }) => {
        const { [ruleOf(schedule)]: _gone, ...cursors } = row.cursors
        return Object.keys(cursors).length > 0 ? { ...row, cursors } : undefined
      })
      this.#gone.delete(name)
    } catch (error) {
      this.#report(followed, error)
    }
  }

  async #work(): Promise<void> {
    const nowMs = this.#now()
    const looksAtQueues = this.#ticks++ % QUEUES_EVERY_TICKS === 0
    const due = [...this.#followed.values()].filter(
      ({ isRead, nextMs = Infinity, schedule, cursor = 0 }) =>
        !isRead || nextMs <= nowMs || cursor - nowMs > AHEAD_MS || (looksAtQueues && schedule.overlap === 'queue'),
    )
    await forEachConcurrent(due, (followed) => this.#attempt(followed))
    // Afterwards: a schedule with other times keeps its run and what waits.
    await forEachConcurrent([...this.#gone], (gone) => this.#forget(...gone))
  }

  async #attempt(followed: Followed): Promise<void> {
    try {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) if (await this.#advance(followed)) break
      followed.error = undefined
    } catch (error) {
      this.#report(followed, error)
    }
  }

  /**
   * Deals with the next thing of a schedule.
   *
   * @returns true when nothing more is to be done at this moment
   */
  async #advance(followed: Followed): Promise<boolean> {
    const { schedule } = followed
    const nowMs = this.#now()
    const read = await this.#runs.read(schedule)
    const cursor = read.row.cursors[ruleOf(schedule)]
    followed.isRead = true
    if (cursor === undefined || cursor - nowMs > AHEAD_MS) return this.#begin(followed, read, nowMs)
    followed.cursor = cursor
    const [waiting] = read.row.queued
    if (waiting !== undefined && !(await this.#runs.findObstacle(schedule, read.row)))
      return this.#fire(followed, read, waiting)
    const next = this.#options.findDue(schedule, cursor)
    followed.nextMs = next
    if (next === undefined || next > nowMs) return true
    if (nowMs - next <= LATE_MS) followed.seen = next
    const isMissed = followed.seen !== next
    const due = isMissed ? this.#lastMissed(schedule, next, nowMs) : next
    if (isMissed && schedule.missed !== 'once') {
      return this.#settle(followed, read, { due, why: 'No server was there.' })
    }
    return this.#deal(followed, read, due)
  }

  /** A schedule that is new, or whose clock was wrong, begins now. */
  async #begin(followed: Followed, read: ReadSchedule, nowMs: number): Promise<boolean> {
    const { schedule, cursor } = followed
    const from = cursor !== undefined && cursor <= nowMs ? cursor : nowMs
    await this.#runs.replace(schedule, read, withCursor(read.row, schedule, from))
    return false
  }

  /** Returns the last due time before those that are still in time. */
  #lastMissed(schedule: AgentSchedule, first: number, nowMs: number): number {
    const { findDue } = this.#options
    const limit = nowMs - LATE_MS
    let last = first
    // From near to far: a schedule may have missed a million due times.
    for (let spanMs = LATE_MS; limit - spanMs > first; spanMs *= 2) {
      const found = findDue(schedule, limit - spanMs)
      if (found === undefined || found >= limit) continue
      last = found
      break
    }
    for (let next = findDue(schedule, last); next !== undefined && next < limit; next = findDue(schedule, next))
      last = next
    return last
  }

  async #deal(followed: Followed, read: ReadSchedule, due: number): Promise<boolean> {
    const { schedule } = followed
    const obstacle = await this.#runs.findObstacle(schedule, read.row)
    const { queued } = read.row
    if (!obstacle && queued.length === 0) return this.#fire(followed, read, due)
    if (schedule.overlap !== 'queue') return this.#settle(followed, read, { due, why: obstacle ?? '' })
    const isFull = queued.length >= MAX_QUEUED
    const why = isFull ? `${MAX_QUEUED} due times wait already.` : `Queued: ${obstacle ?? 'others wait.'}`
    const row = isFull ? read.row : { ...read.row, queued: [...queued, due] }
    return this.#settle(followed, { ...read, row }, { due, why })
  }

  async #fire(followed: Followed, read: ReadSchedule, due: number): Promise<boolean> {
    const { schedule } = followed
    try {
      const run = await this.#runs.start(schedule, read, due)
      if (run !== undefined) this.#say(schedule, { due, run })
      return false
    } catch (error) {
      if (!(error instanceof HostError) || !SPENT.has(error.code)) throw error
      const row = { ...read.row, queued: read.row.queued.filter((other) => other !== due) }
      return this.#settle(followed, { ...read, row }, { due, why: messageOf(error) })
    }
  }

  /** Stores what became of a due time that has made no run. */
  async #settle(followed: Followed, read: ReadSchedule, outcome: DueOutcome): Promise<boolean> {
    const { schedule } = followed
    const row = withOutcome(read.row, schedule, outcome)
    if (await this.#runs.replace(schedule, read, row)) this.#say(schedule, outcome)
    return false
  }

  #say({ agent, id }: AgentSchedule, { due, run, why }: DueOutcome): void {
    const news = run === undefined ? `no run. ${why}` : `began run '${run}'.`
    this.#options.log.info(`Schedule '${agent}/${id}', due ${new Date(due).toISOString()}: ${news}`)
  }

  #report(followed: Followed, error: unknown): void {
    const { schedule, error: before } = followed
    const message = messageOf(error)
    // The message about a limit says how long it lasts, so it differs each time.
    const name = error instanceof LimitReached ? error.limited : message
    followed.error = name
    if (name === before || this.#options.service.noteOutage(error)) return
    this.#options.log.error(`Schedule '${schedule.agent}/${schedule.id}' is tried again: ${message}`)
  }
}

function nameOf(schedule: AgentSchedule): string {
  return JSON.stringify([scheduleKey(schedule), schedule.tenant, ruleOf(schedule)])
}
