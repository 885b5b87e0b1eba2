import { type Fields, fieldsOf } from '../json.ts'
import { isModelUsages, type ModelUsage } from './calls/describe-event.ts'
import type { TracedEvent } from './files/traced-event.ts'

export const RUN_STATUSES = [
  'running',
  'completed',
  'waiting',
  'expired',
  'handed_to_client',
  'continued',
  'failed',
  'cancelled',
  'interrupted',
] as const
/** `waiting`: for a person. `expired`: no person decided in time. `handed_to_client`: for the output of its client's tools. `continued`: it waited, and another run continues it. `interrupted`: the process went away before the run had ended. */
export type RunStatus = (typeof RUN_STATUSES)[number]

/** Fact of a run: the type of its column in the index, and its value as long as nothing says another. */
interface Fact<T> {
  readonly column: string
  readonly initial: T
  /** True for one that only viewers of contents see. */
  readonly isContent?: true
}

const TEXT: Fact<string> = { column: 'TEXT NOT NULL', initial: '' }
const COUNT: Fact<number> = { column: 'INTEGER NOT NULL', initial: 0 }
const MAYBE_TEXT: Fact<string | null> = { column: 'TEXT', initial: null }
const MAYBE_COUNT: Fact<number | null> = { column: 'INTEGER', initial: null }
const MAYBE_REAL: Fact<number | null> = { column: 'REAL', initial: null }
const CONTENT: Fact<string> = { ...TEXT, isContent: true }
const MAYBE_CONTENT: Fact<string | null> = { ...MAYBE_TEXT, isContent: true }

/** Facts that the event names with which a run begins. */
const SAID = {
  agent_id: TEXT,
  /** '' for a run that belongs to none. */
  tenant: TEXT,
  entry_point: TEXT,
  /** Name of the server that ran it; empty in traces that name none. */
  server: TEXT,
  /** Version of the agent's definition; null in traces that do not say. */
  agent_version: MAYBE_TEXT,
  /** Id of the waiting run that this one continues; null for any other. */
  continues: MAYBE_CONTENT,
  /** Name of the conversation that it is a turn of: its id, or that of its first run; null for that run itself, and for any other. */
  conversation: MAYBE_CONTENT,
  /** Id of the case of an eval that this run is of; null for any other. */
  eval_case: MAYBE_CONTENT,
  /** Id of the run that began this one; null for a run that a client began. */
  parent_run_id: MAYBE_CONTENT,
  /** Call of that run that began it. */
  parent_run_call_id: MAYBE_CONTENT,
}

/** Every fact of a run, with its column in the index. Named as GraphQL names them. */
const FACTS = {
  run_id: { ...CONTENT, column: 'TEXT NOT NULL UNIQUE' },
  ...SAID,
  /** Beginning of the name by which its client calls its user; null where it names none. */
  user: MAYBE_CONTENT,
  status: { ...TEXT, initial: 'running' as RunStatus },
  /** When what it waits for expires, in Unix seconds; null for one that waits for nothing, or without end. */
  expires_at: MAYBE_REAL,
  /** Reason why a completed run stopped before its answer was complete; null for any other. */
  incomplete: MAYBE_TEXT,
  /** Names of the values by which its agent differs from the registered one; null for a run of that one itself. */
  variant: MAYBE_CONTENT,
  /** Id of the run that continues this one, the first of several; null while there is none. */
  continued_by: MAYBE_CONTENT,
  /** Id of the run that this one replays; null for any other. */
  replays: MAYBE_CONTENT,
  /** Number of the call on its tape from which this one goes its own way; null for any other. */
  replays_from: MAYBE_COUNT,
  /** Unix time in seconds, with fractions. */
  started_at: { column: 'REAL NOT NULL', initial: 0 },
  /** Null while it runs. */
  duration_ms: MAYBE_REAL,
  /** Until the first text went out; null while it runs, and when there was none. */
  first_text_ms: MAYBE_REAL,
  calls: COUNT,
  /** Calls that returned, those to the run itself included. */
  results: COUNT,
  errors: COUNT,
  events: COUNT,
  /** Beginning of the question to the agent. */
  input: CONTENT,
  /** Beginning of the text that was sent; empty while it runs. */
  output: CONTENT,
  /** Error of the run, or the last of a tool: one line. */
  error: MAYBE_CONTENT,
  input_tokens: COUNT,
  output_tokens: COUNT,
  /** Tokens by model; empty where none was counted. */
  models: { ...TEXT, initial: [] as readonly ModelUsage[] },
}

type FactName = keyof typeof FACTS

/** One run in short. Fields are named as GraphQL names them. */
export type RunSummary = { -readonly [Name in FactName]: (typeof FACTS)[Name]['initial'] }

const ALL = Object.entries<Fact<unknown>>(FACTS) as readonly [FactName, Fact<unknown>][]

export const FACT_NAMES = ALL.map(([name]) => name)

/** Columns of the facts, in SQL. */
export const FACT_COLUMNS = ALL.map(([name, { column }]) => `${name} ${column}`).join(', ')

const CONTENT_NAMES = ALL.flatMap(([name, { isContent }]) => (isContent ? [name] : []))

/** The facts that only viewers of contents see, each as a function makes it of its value. */
export function mapContents<T>(run: RunSummary, map: (value: RunSummary[FactName]) => T): Record<string, T> {
  return Object.fromEntries(CONTENT_NAMES.map((name) => [name, map(run[name])]))
}

/** Name of a fact that its column cannot hold; undefined when there is none. Facts that are left out are not looked at. */
export function wrongFactOf(facts: Fields): string | undefined {
  return ALL.find(([name, fact]) => facts[name] !== undefined && !fits(facts[name], fact))?.[0]
}

/** @throws TypeError that names a fact which its column cannot hold: libsql ends the process over some, and SQLite refuses others */
export function checkFacts<T extends object>(facts: T): T {
  const wrong = wrongFactOf(fieldsOf(facts))
  if (wrong !== undefined) throw new TypeError(`The ${wrong} of a run is of a wrong type.`)
  return facts
}

function fits(value: unknown, { column, initial }: Fact<unknown>): boolean {
  if (Array.isArray(initial)) return isModelUsages(value)
  if (value === null) return !column.includes('NOT NULL')
  return column.startsWith('TEXT') ? typeof value === 'string' : Number.isFinite(value)
}

/** The facts of a run that has begun, as far as its first event names them. */
export function factsAtBeginning(event: TracedEvent): RunSummary {
  const said: Partial<Record<string, unknown>> = { ...event }
  return Object.fromEntries(
    ALL.map(([name, { initial }]) => [name, (name in SAID ? said[name] : undefined) ?? initial]),
  ) as unknown as RunSummary
}
