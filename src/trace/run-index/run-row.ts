import { type Fields, fieldsOf, isObject } from '../../json.ts'
import { addModelUsage, isModelUsages, type ModelUsage } from '../calls/describe-event.ts'
import { checkFacts, FACT_NAMES, type RunSummary } from '../run-columns.ts'
import type { RunRecord } from './run-summary.ts'

const RECORD_COLUMNS = ['file', 'steps', 'stats', 'tools', 'places'] as const

const SUMMARY = FACT_NAMES.join(', ')
/** Columns of {@link WholeRow}. */
export const WHOLE = `${SUMMARY}, stats, tools, steps, places`
/**
 * Columns of {@link ListedRow}: the runs below one, and the models that these asked, are counted as it is read. `UNION` finds each of them
 * once, so that files in which runs are below themselves end, too.
 */
export const LISTED = `${SUMMARY}, tools, (SELECT count(*) FROM runs AS child WHERE child.parent_run_id = runs.run_id) AS children,
  (WITH RECURSIVE below (id, models) AS (
     SELECT child.run_id, child.models FROM runs AS child WHERE child.parent_run_id = runs.run_id
     UNION SELECT child.run_id, child.models FROM runs AS child JOIN below ON child.parent_run_id = below.id)
   SELECT json_group_array(json(models)) FROM below WHERE id <> runs.run_id) AS models_below`

/** Puts a record with the values of {@link toRow}. */
export const PUT = `INSERT OR REPLACE INTO runs (${SUMMARY}, ${RECORD_COLUMNS.join(', ')})
  VALUES (${[...FACT_NAMES, ...RECORD_COLUMNS].map(() => '?').join(', ')})`

/** Calls of one tool in a run. */
export interface RunTool {
  readonly name: string
  /** Those that have ended. */
  readonly calls: number
  readonly errors: number
  /** Those that a person or a policy did not allow. */
  readonly rejected: number
}

/** A run with its tools, and what the runs below it add. */
export interface ListedRun extends RunSummary {
  /** Number of the runs that it began. */
  readonly children: number
  /** In the order of their first use. */
  readonly tools: readonly RunTool[]
}

type SummaryRow = Omit<RunSummary, 'models'> & { readonly models: string }
export type WholeRow = SummaryRow & Record<'stats' | 'tools' | 'steps' | 'places', string>
export type ListedRow = SummaryRow & {
  readonly tools: string
  readonly children: number
  readonly models_below: string
}

type Value = string | number | null

/**
 * Values for {@link PUT}. Summaries of servers with an earlier version lack some.
 *
 * @throws TypeError for a record that no row can hold
 */
export function toRow({ summary, steps, modules, tools, places }: RunRecord): Value[] {
  const known: Partial<RunSummary> = summary
  const facts = { ...known, results: known.results ?? 0 }
  const whole = checkFacts(Object.fromEntries(FACT_NAMES.map((name) => [name, facts[name] ?? null])))
  const values: Fields = { ...whole, models: JSON.stringify(summary.models) }
  checkStats(modules, tools)
  return [
    ...FACT_NAMES.map((column) => bindable(values[column])),
    lastFileOf(places),
    bindable(` ${steps.join(' ')} `),
    bindable(JSON.stringify(modules)),
    bindable(JSON.stringify(tools)),
    places,
  ]
}

export function readWhole({ stats, tools, steps, places, ...summary }: WholeRow): RunRecord {
  return {
    summary: readSummary(summary),
    modules: JSON.parse(stats) as RunRecord['modules'],
    tools: JSON.parse(tools) as RunRecord['tools'],
    steps: steps.split(' ').filter((step) => step !== ''),
    places,
  }
}

export function readListed({ models_below: below, tools, ...row }: ListedRow): ListedRun {
  const listed = { ...readSummary(row), children: row.children, tools: readTools(tools) }
  for (const models of JSON.parse(below) as ModelUsage[][]) {
    for (const usage of models) listed.models = addModelUsage(listed.models, usage)
  }
  return listed
}

function readSummary(row: SummaryRow): RunSummary {
  return { ...row, models: JSON.parse(row.models) as RunSummary['models'] }
}

function readTools(tools: string): RunTool[] {
  const byName = JSON.parse(tools) as RunRecord['tools']
  return Object.entries(byName).map(([name, { calls, errors, rejected = 0 }]) => ({ name, calls, errors, rejected }))
}

/** Those that cannot be added up would fail every list and every number that its run is part of. */
function checkStats(modules: unknown, tools: unknown): void {
  const areCounts = ({ calls, errors, durations }: Fields) =>
    Number.isFinite(calls) && Number.isFinite(errors) && isObject(durations)
  const areRight =
    isObject(modules) &&
    Object.values(modules).every((stats) => areCounts(fieldsOf(stats))) &&
    isObject(tools) &&
    Object.values(tools).every((stats) => areCounts(fieldsOf(stats)) && isModelUsages(fieldsOf(stats).models))
  if (!areRight) throw new TypeError('The statistics of a run are not as they should be.')
}

/** Text ends at NUL where libsql binds it; for a value that is neither text nor number nor null, it ends the process. */
export function bindable(value: unknown): Value {
  if (typeof value === 'string') return value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
  if (typeof value === 'number' || value === null) return value
  throw new TypeError(`A row of the index cannot hold a value of type ${typeof value}.`)
}

function lastFileOf(places: string): number {
  return Number(places.slice(places.lastIndexOf(';') + 1).split(':', 1)[0] ?? 0)
}
