import type { Client } from 'pg'
import { type Migration, migrationsOf, type StoreNames } from './migrations.ts'

/** Does the steps of the layout that are missing, under a lock: of several servers that start at once, one does them. */
export async function migrate(client: Client, names: StoreNames): Promise<void> {
  if ((await pendingMigrations(client, names)).length === 0) return
  // An error ends the transaction with the connection.
  await client.query('BEGIN')
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
