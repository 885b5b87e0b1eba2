import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GraphQLError } from 'graphql'
import { HostError } from '../../../errors.ts'
import { readTape } from '../../../tape/read-tape.ts'
import { toSavedRun } from '../../../tape/saved-test.ts'
import { TAPE_FOLDER, tapeFile } from '../../../tape/tape-folder.ts'

export function pathOfTape(projectDir: string, runId: string): string {
  return join(projectDir, TAPE_FOLDER, tapeFile(runId))
}

export function hasTape(projectDir: string, runId: string): boolean {
  return existsSync(pathOfTape(projectDir, runId))
}

/**
 * Returns a run as the files of a test, in GraphQL; null without its tape.
 *
 * @param name of the test; undefined takes that of the command
 * @throws GraphQLError for a tape that cannot be replayed, and for a name that no file may have
 */
export async function viewSavedTest(projectDir: string, runId: string, name: string | undefined) {
  const bytes = await readFile(pathOfTape(projectDir, runId)).catch(() => undefined)
  if (!bytes) return null
  try {
    const saved = toSavedRun(readTape(bytes, runId), name)
    return {
      name: saved.name,
      test_file: saved.testFile,
      tape_file: saved.tapeFile,
      test: saved.test,
      advice: saved.advice,
    }
  } catch (error) {
    if (error instanceof HostError) throw new GraphQLError(error.message)
    throw error
  }
}
