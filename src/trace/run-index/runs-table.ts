import type Database from 'libsql'
import { addModelUsage, type ModelUsage } from '../calls/describe-event.ts'
import { MetricsTally, type MetricsView } from './metrics.ts'
import type { RunRecord, RunSummary } from './run-summary.ts'
import type { MetricsQuery, RunFilter, RunSort, RunsQuery } from './trace-query.ts'

const SUMMARY = `run_id, agent_id, tenant, user, entry_point, server, agent_version, status, incomplete, variant, continues, continued_by, replays, replays_from, eval_case, parent_run_id, parent_run_call_id, started_at, duration_ms, first_text_ms, calls, results, errors, events,
  input, output, error, input_tokens, output_tokens, models`
/** The runs below one, and the models that these asked. */
const LISTED = `${SUMMARY}, tools, (SELECT count(*) FROM runs AS child WHERE child.parent_run_id = runs.run_id) AS children,
  (WITH RECURSIVE below (id, models) AS (
     SELECT child.run_id, child.models FROM runs AS child WHERE child.parent_run_id = runs.run_id
     UNION ALL SELECT child.run_id, child.models FROM runs AS child JOIN below ON child.parent_run_id = below.id)
   SELECT json_group_array(json(models)) FROM below) AS models_below`

/** Number of the file of runs whose events are elsewhere. */
const REMOTE = 0
/** Remote runs at most; the oldest are forgotten. */
const MAX_REMOTE = 10_000

/** Calls of one tool in a run. */
export interface RunTool {
  readonly name: string
  /** Those that have ended. */
  readonly calls: number
  readonly errors: number
}

/** A run with its tools, and what the runs below it add. */
export interface ListedRun extends RunSummary {
  /** Number of the runs that it began. */
  readonly children: number
  /** In the order of their first use. */
  readonly tools: readonly RunTool[]
}

export type ChangedRun = ListedRun & { change: number }
/** A summary as its row has it. */
type SummaryRow = Omit<RunSummary, 'models'> & { readonly models: string }
type ListedRow = SummaryRow & { readonly tools: string; readonly children: number; readonly models_below: string }

/** Columns that runs can be sorted by. */
const SORT_COLUMNS: Readonly<Record<RunSort, string>> = {
  started_at: 'started_at',
  agent_id: 'agent_id',
  status: 'status',
  duration_ms: 'coalesce(duration_ms, -1)',
  tokens: '(input_tokens + output_tokens)',
}

/** The runs of the index: one row each. */
export class RunsTable {
  readonly #db: Database.Database
  readonly #put: Database.Statement
  readonly #whole: Database.Statement

  constructor(db: Database.Database) {
    this.#db = db
    this.#put = db.prepare(`INSERT OR REPLACE INTO runs (${SUMMARY}, file, steps, stats, tools, places)
      VALUES (${Array.from({ length: 35 }, () => '?').join(', ')})`)
    this.#whole = db.prepare(`SELECT ${SUMMARY}, stats, tools, steps, places FROM runs WHERE run_id = ?`)
  }

  put(record: RunRecord): void {
    this.#write(this.#withSuccessor(record))
    const { continues } = record.summary
    const waiting = continues ? this.find(continues) : undefined
    if (waiting && hasWaited(waiting.summary)) this.#write(this.#withSuccessor(waiting))
  }

  /** Everything about a run, to go on with it. */
  find(runId: string): RunRecord | undefined {
    const row = this.#whole.all([runId])[0] as
      | (SummaryRow & { stats: string; tools: string; steps: string; places: string })
      | undefined
    if (!row) return undefined
    const { stats, tools, steps, places, ...summary } = row
    return {
      summary: readSummary(summary),
      modules: JSON.parse(stats) as RunRecord['modules'],
      tools: JSON.parse(tools) as RunRecord['tools'],
      steps: steps.split(' ').filter((step) => step !== ''),
      places,
    }
  }

  /** Puts runs of other servers, whose events are elsewhere. What this folder has events of stays as it is. */
  putRemote(records: readonly RunRecord[]): void {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      for (const record of records) this.#putRemote({ ...record, places: '' })
      this.#forgetOldestRemote()
      this.#db.exec('COMMIT')
    } catch (error) {
      this.#db.exec('ROLLBACK')
      throw error
    }
  }

  /** No remote run of a server that is gone goes on. */
  interruptRemote(server: string): void {
    const sql = `SELECT run_id FROM runs WHERE file = ${REMOTE} AND server = ? AND status = 'running'`
    const ids = this.#all<{ run_id: string }>(sql, [server])
    const records = ids.flatMap(({ run_id }) => this.find(run_id) ?? [])
    this.putRemote(records.map((record) => ({ ...record, summary: { ...record.summary, status: 'interrupted' } })))
  }

  /** Removes the runs that have no events after this file; returns their ids. */
  removeOf(file: number): string[] {
    const ids = this.#all<RunSummary>('SELECT run_id FROM runs WHERE file = ?', [file]).map(({ run_id }) => run_id)
    this.#db.prepare('DELETE FROM runs WHERE file = ?').run([file])
    return ids
  }

  /** No run of a process that is gone goes on. */
  interruptRunning(): void {
    this.#db.exec(`UPDATE runs SET status = 'interrupted' WHERE status = 'running' AND file <> ${REMOTE}`)
  }

  /** Newest first, or sorted otherwise. */
  list({ filter, first, after, sort = 'started_at', isAscending = false }: RunsQuery): RunsPage {
    const { where, values } = conditionsOf(filter)
    const column = SORT_COLUMNS[sort]
    const [beyond, direction] = isAscending ? ['>', 'ASC'] : ['<', 'DESC']
    if (after) {
      where.push(`(${column}, run_id) ${beyond} (?, ?)`)
      values.push(after.value, after.runId)
    }
    const condition = where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''
    const order = `ORDER BY ${column} ${direction}, run_id ${direction}`
    const sql = `SELECT ${LISTED}, ${column} AS sorted FROM runs ${condition} ${order} LIMIT ?`
    const rows = this.#all<ListedRow & { sorted: string | number }>(sql, [...values, first + 1])
    const shown = rows.slice(0, first)
    const last = shown.at(-1)
    return {
      runs: shown.map(({ sorted, ...row }) => readListed(row)),
      next: last && rows.length > first ? { value: last.sorted, runId: last.run_id } : undefined,
    }
  }

  /** Runs that a run has begun, and those that these have, by their beginning. */
  below(runId: string): ListedRun[] {
    const sql = `WITH RECURSIVE tree (id) AS (SELECT run_id FROM runs WHERE parent_run_id = ?
      UNION SELECT child.run_id FROM runs AS child JOIN tree ON child.parent_run_id = tree.id)
      SELECT ${LISTED} FROM runs WHERE run_id IN tree ORDER BY started_at, run_id`
    return this.#all<ListedRow>(sql, [runId]).map(readListed)
  }

  count(filter: RunFilter): number {
    const { where, values } = conditionsOf(filter)
    const condition = where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''
    return this.#all<{ count: number }>(`SELECT count(*) AS count FROM runs ${condition}`, values)[0]?.count ?? 0
  }

  get(runId: string): ListedRun | undefined {
    const [row] = this.#all<ListedRow>(`SELECT ${LISTED} FROM runs WHERE run_id = ?`, [runId])
    return row && readListed(row)
  }

  /** Runs whose ids begin like this, newest first. */
  like(prefix: string, limit: number): ListedRun[] {
    const sql = `SELECT ${LISTED} FROM runs WHERE run_id >= ? AND run_id < ? ORDER BY started_at DESC LIMIT ?`
    return this.#all<ListedRow>(sql, [prefix, `${prefix}\uffff`, limit]).map(readListed)
  }

  /** The newest run of an agent, with its events, in which a step (`<module id>.<method>`) was taken. */
  latestWith(wanted: Pick<RunFilter, 'agentId' | 'tenant' | 'step'>): ListedRun | undefined {
    return this.list({ filter: { ...wanted, hasEvents: true, isEval: false }, first: 1, after: undefined }).runs[0]
  }

  /** Ids of the runs of the same agent and tenant that began right before and right after a run. */
  neighbours(runId: string): { previous: string | undefined; next: string | undefined } {
    const near = (beyond: '<' | '>', direction: 'DESC' | 'ASC') =>
      this.#all<{ run_id: string }>(
        `SELECT other.run_id FROM runs AS own JOIN runs AS other ON other.agent_id = own.agent_id AND other.tenant = own.tenant
          AND (other.eval_case IS NULL) = (own.eval_case IS NULL)
          AND (other.started_at, other.run_id) ${beyond} (own.started_at, own.run_id)
          WHERE own.run_id = ? ORDER BY other.started_at ${direction}, other.run_id ${direction} LIMIT 1`,
        [runId],
      )[0]?.run_id
    return { previous: near('<', 'DESC'), next: near('>', 'ASC') }
  }

  /** The text of {@link EventLocations} of a run's events; empty when there is no such run. */
  placesOf(runId: string): string {
    return this.#all<{ places: string }>('SELECT places FROM runs WHERE run_id = ?', [runId])[0]?.places ?? ''
  }

  /** Returns the runs changed after that change, oldest first. Every change rewrites a row with a new number. */
  changes(after: number, limit: number): ChangedRun[] {
    const sql = `SELECT ${LISTED}, change FROM runs WHERE change > ? ORDER BY change LIMIT ?`
    return this.#all<ListedRow & { change: number }>(sql, [after, limit]).map(({ change, ...row }) => {
      return { ...readListed(row), change }
    })
  }

  lastChange(): number {
    return this.#all<{ last: number }>('SELECT coalesce(max(change), 0) AS last FROM runs', [])[0]?.last ?? 0
  }

  metrics(query: MetricsQuery): MetricsView {
    const tally = new MetricsTally(query)
    const { agentId, tenant, since, until } = query
    const { where, values } = conditionsOf({ agentId, tenant, since, until, isEval: false })
    const sql = `SELECT agent_id, agent_version, status, incomplete, started_at, duration_ms, first_text_ms,
      ${ownTokens('input_tokens')}, ${ownTokens('output_tokens')}, models, stats, tools FROM runs WHERE ${where.join(' AND ')} ORDER BY started_at`
    for (const row of this.#db.prepare(sql).iterate(values)) tally.add(row as Parameters<MetricsTally['add']>[0])
    return tally.view()
  }

  #write(record: RunRecord): void {
    this.#put.run([...valuesOf(record), lastFileOf(record.places), ...textsOf(record)])
  }

  /** Marks a waiting run as continued once another run continues it, in whatever order the two become known. */
  #withSuccessor(record: RunRecord): RunRecord {
    const { summary } = record
    if (!hasWaited(summary)) return record
    const sql = 'SELECT run_id FROM runs WHERE continues = ? ORDER BY started_at LIMIT 1'
    const successor = this.#all<{ run_id: string }>(sql, [summary.run_id])[0]?.run_id
    if (successor === undefined) return record
    return { ...record, summary: { ...summary, status: 'continued', continued_by: successor } }
  }

  #putRemote(given: RunRecord): void {
    const record = this.#withSuccessor(given)
    const known = this.find(record.summary.run_id)
    if (known && (known.places !== '' || JSON.stringify(known.summary) === JSON.stringify(record.summary))) return
    this.put(record)
  }

  #forgetOldestRemote(): void {
    const latest = `SELECT run_id FROM runs WHERE file = ${REMOTE} ORDER BY started_at DESC LIMIT -1 OFFSET ${MAX_REMOTE}`
    this.#db.exec(`DELETE FROM runs WHERE run_id IN (${latest})`)
  }

  #all<T>(sql: string, values: readonly (string | number)[]): T[] {
    return this.#db.prepare(sql).all([...values]) as T[]
  }
}

/** Tokens of a run without those of the runs that it began, which are among them once it has ended. */
function ownTokens(column: 'input_tokens' | 'output_tokens'): string {
  const ofChildren = `SELECT coalesce(sum(child.${column}), 0) FROM runs AS child WHERE child.parent_run_id = runs.run_id`
  return `CASE WHEN duration_ms IS NULL THEN ${column} ELSE max(0, ${column} - (${ofChildren})) END AS ${column}`
}

function hasWaited({ status }: RunSummary): boolean {
  return status === 'waiting' || status === 'handed_to_client'
}

/** A page of runs; `next` is where the following one begins. */
export interface RunsPage {
  readonly runs: readonly ListedRun[]
  readonly next: RunsQuery['after']
}

function readSummary(row: SummaryRow): RunSummary {
  return { ...row, models: readModels(row.models) }
}

function readListed({ models_below: below, tools, ...row }: ListedRow): ListedRun {
  const listed = { ...readSummary(row), children: row.children, tools: readTools(tools) }
  for (const models of JSON.parse(below) as ModelUsage[][]) {
    for (const usage of models) listed.models = addModelUsage(listed.models, usage)
  }
  return listed
}

function readTools(tools: string): RunTool[] {
  const byName = JSON.parse(tools) as RunRecord['tools']
  return Object.entries(byName).map(([name, { calls, errors }]) => ({ name, calls, errors }))
}

function readModels(models: string): RunSummary['models'] {
  return JSON.parse(models) as RunSummary['models']
}

type Value = string | number | null

function valuesOf({ summary }: RunRecord): Value[] {
  const values = [
    summary.run_id,
    summary.agent_id,
    summary.tenant,
    summary.user ?? null,
    summary.entry_point,
    summary.server,
    summary.agent_version,
    summary.status,
    summary.incomplete,
    summary.variant ?? null,
    summary.continues,
    summary.continued_by,
    summary.replays ?? null,
    summary.replays_from ?? null,
    summary.eval_case ?? null,
    summary.parent_run_id ?? null,
    summary.parent_run_call_id ?? null,
    summary.started_at,
    summary.duration_ms,
    summary.first_text_ms,
    summary.calls,
    summary.results ?? 0,
    summary.errors,
    summary.events,
    summary.input,
    summary.output,
    summary.error,
    summary.input_tokens,
    summary.output_tokens,
    JSON.stringify(summary.models),
  ]
  return values.map(bindable)
}

function textsOf({ steps, modules, tools, places }: RunRecord): Value[] {
  return [bindable(` ${steps.join(' ')} `), bindable(JSON.stringify(modules)), bindable(JSON.stringify(tools)), places]
}

/** Text ends at NUL where libsql binds it. */
function bindable(value: Value): Value {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
}

function lastFileOf(places: string): number {
  return Number(places.slice(places.lastIndexOf(';') + 1).split(':', 1)[0] ?? 0)
}

function conditionsOf(filter: RunFilter): { where: string[]; values: (string | number)[] } {
  const where: string[] = []
  const values: (string | number)[] = []
  const add = (condition: string, ...given: (string | number)[]) => {
    where.push(condition)
    values.push(...given)
  }
  if (filter.agentId !== undefined) add('agent_id = ?', filter.agentId)
  // The index of tenants has no runs of the nameless one: servers without tenants do not pay for it.
  if (filter.tenant === '') add("tenant = ''")
  else if (filter.tenant !== undefined) add("tenant <> '' AND tenant = ?", filter.tenant)
  if (filter.server !== undefined) add('server = ?', filter.server)
  if (filter.entryPoint !== undefined) add('entry_point = ?', filter.entryPoint)
  if (filter.status !== undefined) add('status = ?', filter.status)
  if (filter.since !== undefined) add('started_at >= ?', filter.since)
  if (filter.until !== undefined) add('started_at < ?', filter.until)
  if (filter.minDurationMs !== undefined) add('duration_ms >= ?', filter.minDurationMs)
  if (filter.maxDurationMs !== undefined) add('duration_ms <= ?', filter.maxDurationMs)
  if (filter.isEval !== undefined) add(`eval_case IS ${filter.isEval ? 'NOT NULL' : 'NULL'}`)
  if (filter.hasEvents === true) add(`file <> ${REMOTE}`)
  if (filter.isTopLevel === true) {
    const isKnown = 'EXISTS (SELECT 1 FROM runs AS parent WHERE parent.run_id = runs.parent_run_id)'
    add(`(parent_run_id IS NULL OR NOT ${isKnown})`)
  }
  if (filter.eventType === 'result') add('results > 0')
  if (filter.eventType === 'exception') add('errors > 0')
  if (filter.eventType === 'end') add(`status NOT IN ('running', 'interrupted')`)
  if (filter.step !== undefined) add(`steps LIKE ? ESCAPE '\\'`, `% ${literal(filter.step)} %`)
  if (filter.moduleId !== undefined) add(`steps LIKE ? ESCAPE '\\'`, `% ${literal(filter.moduleId)}.%`)
  if (filter.methodName !== undefined) add(`steps LIKE ? ESCAPE '\\'`, `%.${literal(filter.methodName)} %`)
  if (filter.agentVersion !== undefined) add('agent_version = ?', filter.agentVersion)
  if (filter.toolName !== undefined) add(`tools LIKE ? ESCAPE '\\'`, `%${literal(JSON.stringify(filter.toolName))}:{%`)
  if (filter.text !== undefined) {
    const pattern = `%${literal(filter.text)}%`
    const columns = ['input', 'output', 'error', 'run_id', 'agent_id']
    add(`(${columns.map((name) => `${name} LIKE ? ESCAPE '\\'`).join(' OR ')})`, ...columns.map(() => pattern))
  }
  return { where, values }
}

/** A text as itself within a LIKE pattern. */
function literal(text: string): string {
  return text.replaceAll('\0', '').replace(/[\\%_]/g, '\\$&')
}
