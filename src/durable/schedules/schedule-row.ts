import { hash } from 'node:crypto'
import type { Schedule } from '../../definition/definition.ts'
import type { Change, Entry } from '../../store/record-store.ts'
import { parseRow, ROW_VERSION } from '../rows/parse-row.ts'

/** Schedule of an agent. */
export interface AgentSchedule extends Schedule {
  readonly agent: string
}

/** Outcome of a due time. All times in Unix milliseconds. */
export interface DueOutcome {
  readonly due: number
  /** Run that it made; left out where it made none. */
  readonly run?: string
  /** Why it made none, or waits. */
  readonly why?: string
}

/** State of a schedule, for all servers. */
export interface ScheduleRow {
  /**
   * Last due time that was dealt with, by rule: while servers with an old and a new file run beside each other, each rule goes on by
   * itself.
   */
  readonly cursors: Readonly<Record<string, number>>
  /** Due times that wait for the run before them, oldest first. */
  readonly queued: readonly number[]
  /** Run that was begun last. */
  readonly run?: string | undefined
  /** Latest first. */
  readonly outcomes: readonly DueOutcome[]
}

/** State as it was read. */
export interface ReadSchedule {
  readonly row: ScheduleRow
  /** Undefined for one that is not stored. */
  readonly text: string | undefined
}

const MAX_OUTCOMES = 5
const MAX_RULES = 4
const NEW: ScheduleRow = Object.freeze({ cursors: {}, queued: [], outcomes: [] })

/** Not the beginning of the key of another schedule: a guard may ask for its absence. */
export function scheduleKey({ agent, id }: Pick<AgentSchedule, 'agent' | 'id'>): string {
  return `schedule:${agent}:${id}:state`
}

/** Returns the name of the rule of a schedule, of 12 characters. */
export function ruleOf({ cron, every, timezone }: Schedule): string {
  return digest(cron, every, timezone).slice(0, 12)
}

/** Returns the key of a due time: equal on all servers. */
export function dueHash({ agent, id }: AgentSchedule, due: number): string {
  return digest('schedule', agent, id, due)
}

function digest(...parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts))
}

/** @throws HostError `RECORD_UNREADABLE` */
export function readSchedule(schedule: AgentSchedule, text: string | undefined): ReadSchedule {
  const shape = { cursors: 'object', queued: 'array', outcomes: 'array' } as const
  const row = text === undefined ? NEW : parseRow<ScheduleRow>(scheduleKey(schedule), text, shape)
  return { row, text }
}

/** Changes and conditions that put a row in the place of the one that was read; undefined removes it. */
export function replaceSchedule(
  schedule: AgentSchedule,
  { text }: ReadSchedule,
  row: ScheduleRow | undefined,
): { readonly changes: readonly Change[]; readonly equal: readonly Entry[]; readonly absent: readonly string[] } {
  const key = scheduleKey(schedule)
  const written = row && JSON.stringify({ version: ROW_VERSION, ...row })
  const isNew = text === undefined
  return { changes: [[key, written]], equal: isNew ? [] : [[key, text]], absent: isNew ? [key] : [] }
}

/** Returns the row after a due time was dealt with. */
export function withOutcome(row: ScheduleRow, schedule: AgentSchedule, outcome: DueOutcome): ScheduleRow {
  return withCursor(withNews(row, outcome), schedule, Math.max(outcome.due, row.cursors[ruleOf(schedule)] ?? 0))
}

/** Returns the row with a run, or the reason for none, that leaves the due times as they are. */
export function withNews(row: ScheduleRow, outcome: DueOutcome): ScheduleRow {
  const others = row.outcomes.filter(({ due }) => due !== outcome.due)
  return {
    ...row,
    ...(outcome.run === undefined ? {} : { run: outcome.run }),
    outcomes: [outcome, ...others].slice(0, MAX_OUTCOMES),
  }
}

/** Keeps the rules that were used last. */
export function withCursor(row: ScheduleRow, schedule: AgentSchedule, due: number): ScheduleRow {
  const all = { ...row.cursors, [ruleOf(schedule)]: due }
  const latest = Object.entries(all).sort(([, a], [, b]) => b - a)
  return { ...row, cursors: Object.fromEntries(latest.slice(0, MAX_RULES)) }
}
