import { hash } from 'node:crypto'
import type { Client } from 'pg'
import { readStatements } from '../read-statements.ts'

/** A step of the layout. */
export interface Migration {
  readonly title: string
  readonly sql: string
}

/** Names of the objects of one store in a database. */
export interface StoreNames {
  /** Schema, quoted. */
  readonly schema: string
  /** Channel of the notifications. */
  readonly channel: string
  /** Number of the advisory lock for commits and migrations. */
  readonly lock: string
}

/** @param schema letters, digits and underscores */
export function namesOf(schema: string): StoreNames {
  const lock = hash('sha256', `agent-host ${schema}`, 'buffer').readBigInt64BE()
  return { schema: `"${schema}"`, channel: `${schema}_topics`, lock: String(lock) }
}

/** Steps of the layout, in order, by the names of their files. */
const STEPS = [
  { title: 'tables of records and servers', file: 'tables' },
  { title: 'functions that read', file: 'reads' },
  { title: 'function that commits', file: 'commit' },
  { title: 'function that reads many ranges', file: 'read-many' },
  { title: 'functions plan their statements once', file: 'plan-once' },
]

// A plan made while the table was small would read all of it later: every access goes by the key.
const BY_KEY =
  'SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off'

/**
 * Returns the steps of the layout, in order. They only add, so that servers of an earlier version go on beside those of a
 * later one: functions never change, and a new behaviour gets a new name.
 */
function migrationsOf({ schema, channel, lock }: StoreNames): readonly Migration[] {
  const values = { schema, channel, lock, by_key: BY_KEY }
  return STEPS.map(({ title, file }) => ({
    title,
    sql: readStatements(new URL(`./${file}.sql`, import.meta.url), values),
  }))
}

/** Does the steps of the layout that are missing, under a lock: of several servers that start at once, one does them. */
export async function migrate(client: Client, names: StoreNames): Promise<void> {
  if ((await pendingMigrations(client, names)).length === 0) return
  // An error ends the transaction with the connection.
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
  await client.query(`SELECT pg_advisory_xact_lock(${names.lock})`)
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${names.schema}`)
  await client.query(`CREATE TABLE IF NOT EXISTS ${names.schema}.layout (steps int NOT NULL)`)
  // Read again: another server may have been quicker.
  const pending = await pendingMigrations(client, names)
  for (const { sql } of pending) await client.query(sql)
  if (pending.length > 0) {
    await client.query(`DELETE FROM ${names.schema}.layout`)
    await client.query(`INSERT INTO ${names.schema}.layout VALUES ($1)`, [migrationsOf(names).length])
  }
  await client.query('COMMIT')
}

/** Returns the steps of the layout that are missing. */
export async function pendingMigrations(client: Client, names: StoreNames): Promise<readonly Migration[]> {
  const { rows: found } = await client.query('SELECT to_regclass($1) AS name', [`${names.schema}.layout`])
  if (found[0]?.name === null) return migrationsOf(names)
  const { rows } = await client.query(`SELECT steps FROM ${names.schema}.layout`)
  return migrationsOf(names).slice(rows[0]?.steps ?? 0)
}
