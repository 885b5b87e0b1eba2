import { randomUUID } from 'node:crypto'
import type { Client, Pool, QueryArrayConfig } from 'pg'
import { badOption, systemCodeOf } from '../../errors.ts'
import { describeProcess } from '../../process-identity.ts'
import { GroupCommit, type PendingCommit } from '../group-commit.ts'
import { Heartbeat, type Sighting } from '../heartbeat.ts'
import { boundsOf } from '../key-bounds.ts'
import type { AscendingRange, Change, Entry, Guards, KeyRange, Prepare, RecordStore } from '../record-store.ts'
import { Watchers } from '../watchers.ts'
import { toArguments } from './commit-arguments.ts'
import { selectIndependent } from './independent-commits.ts'
import { migrate, namesOf, pendingMigrations, type StoreNames } from './migrations.ts'
import { TopicListener } from './topic-listener.ts'

export type PostgresPackage = Pick<typeof import('pg'), 'Pool' | 'Client'>

export interface PostgresLocation {
  /** Connection string for the package `pg`. */
  readonly url: string
  readonly schema: string
  /**
   * Of the connection that receives notifications. If there is one, `url` may lead to a pooler in transaction mode, which keeps
   * neither prepared statements nor settings.
   */
  readonly listenUrl: string | undefined
}

/** Below the deadline of a call, so that an unanswered call does not take effect later. */
const STATEMENT_TIMEOUT = 'statement_timeout = 4000'
/** A snapshot from before the wait for the lock would have guards hold that no longer do, whatever the default of the database. */
const ISOLATION = "SET default_transaction_isolation = 'read committed'"
const QUERY_TIMEOUT_MS = 4500
const MAX_CONNECTIONS = 6

/** Records in tables of PostgreSQL. Commits that come together are one transaction. */
export class PostgresStore implements RecordStore {
  readonly serverId = randomUUID()
  readonly #pool: Pool
  readonly #hasSessions: boolean
  readonly #names: StoreNames
  readonly #watchers = new Watchers()
  readonly #listener: TopicListener
  readonly #heartbeat = new Heartbeat((silent) => this.#beat(silent))
  readonly #commits = new GroupCommit({
    run: (commits) => this.#commitGroup(commits),
    select: selectIndependent,
    isOfOne: isOfStatement,
  })

  private constructor(pg: PostgresPackage, { url, schema, listenUrl }: PostgresLocation) {
    this.#names = namesOf(schema)
    this.#hasSessions = listenUrl === undefined
    this.#pool = new pg.Pool({
      ...settingsOf(url),
      max: MAX_CONNECTIONS,
      // PgBouncer rejects connections that name it at their start.
      ...(this.#hasSessions && { onConnect: (client) => client.query(`SET ${STATEMENT_TIMEOUT}; ${ISOLATION}`) }),
    })
    // Of idle connections: the next call opens another.
    this.#pool.on('error', () => {})
    // Of connections in use: the query under way fails with the same error.
    this.#pool.on('connect', (client) => client.on('error', () => {}))
    this.#listener = new TopicListener({
      connect: () => new pg.Client(settingsOf(listenUrl ?? url)),
      channel: this.#names.channel,
      serverId: this.serverId,
      onTopics: (topics) => this.#watchers.notify(topics),
      onGap: () => this.#watchers.notifyAll(),
    })
  }

  /**
   * @param prepare called before the first sign of life
   * @throws HostError `OPTION_INVALID` when a pooler shares connections, and the location has no `listenUrl`
   */
  static async open(pg: PostgresPackage, location: PostgresLocation, prepare?: Prepare): Promise<PostgresStore> {
    await withClient(pg, location, async (client, names) => {
      if (location.listenUrl === undefined) await requireOwnConnection(pg, location, client)
      await migrate(client, names)
    })
    const store = new PostgresStore(pg, location)
    try {
      await prepare?.(store)
      await Promise.all([store.#listener.open(), store.#heartbeat.start()])
      return store
    } catch (error) {
      await store.close()
      throw error
    }
  }

  /** Returns the titles of the steps of the layout that are missing. */
  static async pendingMigrations(pg: PostgresPackage, location: PostgresLocation): Promise<string[]> {
    const pending = await withClient(pg, location, pendingMigrations)
    return pending.map(({ title }) => title)
  }

  async get(keys: readonly string[]): Promise<(string | undefined)[]> {
    const rows = await this.#call<[string | null]>('get_1', [keys])
    return rows.map(([value]) => value ?? undefined)
  }

  async list(range: KeyRange): Promise<string[]> {
    const rows = await this.#range(range, false)
    return rows.map(([key]) => key)
  }

  entries(range: KeyRange): Promise<Entry[]> {
    return this.#range(range, true)
  }

  async entriesOfEach(ranges: readonly AscendingRange[]): Promise<Entry[][]> {
    const bounds = ranges.map((range) => boundsOf(range))
    const columns = [bounds.map(({ from }) => from), bounds.map(({ to }) => to), bounds.map(({ limit }) => limit)]
    const found = ranges.map((): Entry[] => [])
    const rows = await this.#call<[number, string, string]>('ranges_1', columns)
    for (const [place, key, value] of rows) found[place - 1]?.push([key, value])
    return found
  }

  async commit(changes: readonly Change[], guards: Guards = {}, notify: readonly string[] = []): Promise<boolean> {
    const isDone = await this.#commits.add({ changes, guards, notify })
    if (isDone) this.#watchers.notify(notify)
    return isDone
  }

  watch(topics: readonly string[], onNotice: () => void): () => void {
    return this.#watchers.add(topics, onNotice)
  }

  async isServerAlive(serverId: string): Promise<boolean> {
    const { rows } = await this.#pool.query({
      text: `${this.#selectSightings} WHERE id = $1`,
      values: [serverId],
    })
    return this.#heartbeat.isAlive(rows[0])
  }

  async now(): Promise<number> {
    const { rows } = await this.#pool.query({ text: 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now' })
    return Number(rows[0]?.now)
  }

  /** Does nothing: PostgreSQL's own vacuum overwrites removed data. */
  async purge(): Promise<void> {}

  async close(): Promise<void> {
    this.#heartbeat.stop()
    await this.#commits.settle()
    await this.#pool.query(`DELETE FROM ${this.#names.schema}.servers WHERE id = $1`, [this.serverId]).catch(() => {})
    await Promise.all([this.#listener.close(), this.#pool.end()])
  }

  async #commitGroup(commits: readonly PendingCommit[]): Promise<boolean[]> {
    const values = toArguments(this.serverId, commits)
    const rows = this.#hasSessions
      ? this.#call<[number[]]>('commit_1', values)
      : this.#callInTransaction<[number[]]>('commit_1', values)
    const [[refused] = [[]]] = await rows
    return commits.map((_commit, index) => !refused.includes(index))
  }

  #range(range: KeyRange, hasValues: boolean): Promise<[string, string][]> {
    const { from, to, order, limit } = boundsOf(range)
    return this.#call('range_1', [from, to, order === 'desc', limit, hasValues])
  }

  async #call<Row extends unknown[]>(name: string, values: unknown[]): Promise<Row[]> {
    const { rows } = await this.#pool.query<Row>(this.#queryOf(name, values))
    return rows
  }

  /** Calls in a transaction of its own, with a setting that ends with it: one that is not answered in time is rolled back. */
  async #callInTransaction<Row extends unknown[]>(name: string, values: unknown[]): Promise<Row[]> {
    const client = await this.#pool.connect()
    try {
      await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL ${STATEMENT_TIMEOUT}`)
      const { rows } = await client.query<Row>(this.#queryOf(name, values))
      await client.query('COMMIT')
      client.release()
      return rows
    } catch (error) {
      // The connection ends, and the transaction with it.
      client.release(true)
      throw error
    }
  }

  #queryOf(name: string, values: unknown[]): QueryArrayConfig {
    const places = values.map((_value, index) => `$${index + 1}`).join(', ')
    const text = `SELECT * FROM ${this.#names.schema}.${name}(${places})`
    return { ...(this.#hasSessions && { name }), text, values, rowMode: 'array' }
  }

  get #selectSightings(): string {
    return `SELECT id, process, seen_at::text AS sign FROM ${this.#names.schema}.servers`
  }

  async #beat(silent: readonly string[]): Promise<Sighting[]> {
    const [{ rows }] = await Promise.all([
      this.#pool.query<Sighting>(this.#selectSightings),
      this.#listener.check(),
      this.#pool.query(
        `INSERT INTO ${this.#names.schema}.servers VALUES ($1, $2, clock_timestamp())
          ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`,
        [this.serverId, describeProcess()],
      ),
      this.#pool.query(
        `DELETE FROM ${this.#names.schema}.servers
          WHERE id = ANY($1) AND seen_at < clock_timestamp() - interval '1 day'`,
        [silent],
      ),
    ])
    return rows
  }
}

const SCHEMA = /^[a-z_][a-z0-9_]{0,39}$/

/**
 * Reads the URL of a store: `schema` (default: `agent_host`) and `listen` (the URL of the connection that hears
 * notifications) are options of it.
 *
 * @throws HostError `OPTION_INVALID`
 */
export function readPostgresUrl(text: string): PostgresLocation {
  const url = new URL(text)
  const schema = url.searchParams.get('schema') ?? 'agent_host'
  const listenUrl = url.searchParams.get('listen') ?? undefined
  if (!SCHEMA.test(schema)) {
    throw badOption(`The schema '${schema}' of --store must match ${SCHEMA.source}.`)
  }
  if (listenUrl !== undefined && !(/^postgres(ql)?:\/\//.test(listenUrl) && URL.canParse(listenUrl))) {
    throw badOption("The option 'listen' of --store must be a URL that begins with postgres://, percent-encoded.")
  }
  url.searchParams.delete('schema')
  url.searchParams.delete('listen')
  return { url: url.href, schema, listenUrl }
}

async function withClient<T>(
  pg: PostgresPackage,
  { url, schema }: PostgresLocation,
  work: (client: Client, names: StoreNames) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(settingsOf(url))
  // The query under way fails with the same error.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client, namesOf(schema))
  } finally {
    await client.end()
  }
}

/** The same process of PostgreSQL answers two clients at once only where a pooler shares its connections. */
async function requireOwnConnection(pg: PostgresPackage, location: PostgresLocation, client: Client): Promise<void> {
  const own = await processIdOf(client)
  if (own !== (await withClient(pg, location, processIdOf))) return
  throw badOption('The PostgreSQL of --store is behind a pooler that shares connections (transaction mode).', {
    suggestions: [
      'Add a URL that leads past the pooler, percent-encoded: --store postgres://...?listen=postgres%3A%2F%2F...',
      'Or have the pooler keep a connection for each client (session mode).',
    ],
  })
}

async function processIdOf(client: Client): Promise<number> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS id')
  return rows[0].id
}

function settingsOf(connectionString: string) {
  return {
    connectionString,
    application_name: 'agent-host',
    connectionTimeoutMillis: QUERY_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  }
}

/** Errors of the statement itself have left nothing behind; after others it is not known. */
function isOfStatement(error: unknown): boolean {
  const code = systemCodeOf(error)
  // https://www.postgresql.org/docs/current/errcodes-appendix.html: connections (08), operators (57), the system (53, 58).
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !/^(08|53|57|58)/.test(code)
}
