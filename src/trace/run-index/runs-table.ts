import type Database from 'libsql'
import type { RunSummary } from '../run-columns.ts'
import { inTransaction } from './in-transaction.ts'
import { MetricsTally, type MetricsView } from './metrics.ts'
import { conditionsOf, REMOTE } from './run-conditions.ts'
import {
  bindable,
  LISTED,
  type ListedRow,
  type ListedRun,
  PUT,
  readListed,
  readWhole,
  toRow,
  WHOLE,
  type WholeRow,
} from './run-row.ts'
import type { RunRecord } from './run-summary.ts'
import type { ForgetQuery, MetricsQuery, RunFilter, RunSort, RunsQuery } from './trace-query.ts'

/** Remote runs at most; the oldest are forgotten. */
const MAX_REMOTE = 10_000

export type ChangedRun = ListedRun & { change: number }

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
    this.#put = db.prepare(PUT)
    this.#whole = db.prepare(`SELECT ${WHOLE} FROM runs WHERE run_id = ?`)
  }

  /** Puts a record, unless no row can hold it: it hurts no other. */
  put(record: RunRecord): void {
    try {
      this.#write(this.#withSuccessor(record))
    } catch (error) {
      if (error instanceof TypeError) return
      throw error
    }
    const { continues } = record.summary
    const waiting = continues ? this.find(continues) : undefined
    if (waiting && hasWaited(waiting.summary)) this.#write(this.#withSuccessor(waiting))
  }

  /** Everything about a run, to go on with it. */
  find(runId: string): RunRecord | undefined {
    const row = this.#whole.all([runId])[0] as WholeRow | undefined
    return row && readWhole(row)
  }

  /** Puts runs of other servers, whose events are elsewhere. What this folder has events of stays as it is. */
  putRemote(records: readonly RunRecord[]): void {
    inTransaction(this.#db, () => {
      for (const record of records) this.#putRemote({ ...record, places: '' })
      this.#forgetOldestRemote()
      this.expireWaiting()
    })
  }

  /** No remote run of a server that is gone goes on. */
  interruptRemote(server: string): void {
    const sql = `SELECT run_id FROM runs WHERE file = ${REMOTE} AND server = ? AND status = 'running'`
    const ids = this.#all<{ run_id: string }>(sql, [server])
    const records = ids.flatMap(({ run_id }) => this.find(run_id) ?? [])
    this.putRemote(records.map((record) => ({ ...record, summary: { ...record.summary, status: 'interrupted' } })))
  }

  /** Removes the runs that have no events after this file; returns them. */
  removeOf(file: number): { run_id: string; places: string }[] {
    return this.#all('DELETE FROM runs WHERE file = ? RETURNING run_id, places', [file])
  }

  /**
   * Ids of the runs of a user, of those below them, that continue them, and that replay them: the one that changed last is the last. Those whose
   * beginning was lost may be anyone's.
   */
  ofUser({ tenant, user, runIds }: ForgetQuery): string[] {
    const sql = `WITH RECURSIVE own (id) AS (
      SELECT run_id FROM runs WHERE tenant = ? AND user IN (?, '') UNION SELECT value FROM json_each(?)
      UNION SELECT run_id FROM runs JOIN own ON parent_run_id = id UNION SELECT run_id FROM runs JOIN own ON continues = id)
      SELECT run_id FROM runs WHERE run_id IN own OR replays IN own ORDER BY change`
    return this.#all<{ run_id: string }>(sql, [tenant, user, JSON.stringify(runIds)]).map(({ run_id }) => run_id)
  }

  remove(ids: readonly string[]): void {
    this.#db.prepare('DELETE FROM runs WHERE run_id IN (SELECT value FROM json_each(?))').run([JSON.stringify(ids)])
  }

  /** No run of a process that is gone goes on. */
  interruptRunning(): void {
    this.#db.exec(`UPDATE runs SET status = 'interrupted' WHERE status = 'running' AND file <> ${REMOTE}`)
  }

  /** No run waits for what has expired, wherever its server is. */
  expireWaiting(): void {
    const sql = "SELECT run_id FROM runs WHERE status = 'waiting' AND expires_at <= ?"
    for (const { run_id } of this.#all<{ run_id: string }>(sql, [Date.now() / 1000])) {
      const record = this.find(run_id)
      if (record) this.#write({ ...record, summary: { ...record.summary, status: 'expired' } })
    }
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
      SELECT ${LISTED} FROM runs WHERE run_id IN tree AND run_id <> ? ORDER BY started_at, run_id`
    return this.#all<ListedRow>(sql, [runId, runId]).map(readListed)
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

  /** Runs whose ids begin like this, newest first: of one tenant, or of all. */
  like(prefix: string, limit: number, tenant?: string): ListedRun[] {
    const [owned, owners] = tenant === undefined ? ['', []] : ['AND tenant = ?', [tenant]]
    const sql = `SELECT ${LISTED} FROM runs WHERE run_id >= ? AND run_id < ? ${owned} ORDER BY started_at DESC LIMIT ?`
    return this.#all<ListedRow>(sql, [prefix, `${prefix}\uffff`, ...owners, limit]).map(readListed)
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
    const { agentId, tenant, agents, since, until } = query
    const { where, values } = conditionsOf({ agentId, tenant, agents, since, until, isCounted: true })
    const sql = `SELECT agent_id, agent_version, status, incomplete, started_at, duration_ms, first_text_ms,
      ${ownTokens('input_tokens')}, ${ownTokens('output_tokens')}, models, stats, tools FROM runs WHERE ${where.join(' AND ')} ORDER BY started_at`
    for (const row of this.#db.prepare(sql).iterate(values)) tally.add(row as Parameters<MetricsTally['add']>[0])
    return tally.view()
  }

  #write(record: RunRecord): void {
    this.#put.run(toRow(record))
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
    return this.#db.prepare(sql).all(values.map(bindable)) as T[]
  }
}

/** Tokens of a run without those of the runs that it began, which are among them once it has ended. */
function ownTokens(column: 'input_tokens' | 'output_tokens'): string {
  const ofChildren = `SELECT coalesce(sum(child.${column}), 0) FROM runs AS child WHERE child.parent_run_id = runs.run_id`
  return `CASE WHEN duration_ms IS NULL THEN ${column} ELSE max(0, ${column} - (${ofChildren})) END AS ${column}`
}

function hasWaited({ status }: RunSummary): boolean {
  return status === 'waiting' || status === 'expired' || status === 'handed_to_client'
}

/** A page of runs; `next` is where the following one begins. */
export interface RunsPage {
  readonly runs: readonly ListedRun[]
  readonly next: RunsQuery['after']
}
