import { mkdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type ModuleContext, messageOf, Type } from 'agent-host'
import type Database from 'libsql'

/** Storage location of a module, as fields of a config. */
export const storageConfig = {
  persist: Type.Boolean({ default: true, description: 'Save the data. Otherwise it is lost when the agent closes.' }),
  file: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'File, relative to the project. Default: memory/<agent id>/<module id>.db, or the store if servers share one.',
    }),
  ),
}

interface FileConfig {
  readonly persist: boolean
  readonly file?: string
}

/**
 * Opens a SQLite file of the project: a write is there whole, or not at all, at whatever instant the process
 * dies, and several agents and processes may share it.
 *
 * @param schema statements that may be repeated
 */
export async function openDatabase(
  { persist, file }: FileConfig,
  schema: string,
  { projectDir, agentId, moduleId }: ModuleContext,
): Promise<Database.Database> {
  const path = persist ? resolve(projectDir, file ?? join('memory', agentId, `${moduleId}.db`)) : ':memory:'
  // Loaded here: it takes a while, and most agents never need it.
  const { default: Database } = await import('libsql')
  try {
    if (persist) await mkdir(dirname(path), { recursive: true })
    const database = new Database(path)
    // How long another process may hold the write lock before this one gives up.
    database.exec('PRAGMA busy_timeout = 3000')
    database.exec('PRAGMA journal_mode = WAL')
    // Safe against a process that dies. Only with the power the last moments may be lost, never a part of one.
    database.exec('PRAGMA synchronous = NORMAL')
    // What is forgotten is overwritten, in the file too.
    database.exec('PRAGMA secure_delete = ON')
    database.exec(schema)
    return database
  } catch (cause) {
    throw new Error(`The file ${path} cannot be opened: ${messageOf(cause)}`, { cause })
  }
}
