import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeUri } from '../decode-uri.ts'
import { hasCode, systemCodeOf } from '../errors.ts'
import { fieldsOf } from '../json.ts'
import type { ForgetQuery } from '../trace/run-index/trace-query.ts'
import { readTape, readTapeBytes, unpack } from './file/read-tape.ts'
import { TAPE_ENDING, TAPE_FOLDER } from './file/tape-folder.ts'

/**
 * Deletes the tapes of a user from the folder of the project, those that were never finished included.
 *
 * @returns how many
 */
export async function forgetTapes(projectDir: string, wanted: ForgetQuery): Promise<number> {
  const folder = join(projectDir, TAPE_FOLDER)
  let count = 0
  for (const name of await listFiles(folder)) {
    const [start = '', rest] = name.split(TAPE_ENDING, 2)
    if (rest === undefined) continue
    if (!wanted.runIds.includes(decodeUri(start)) && !(await isOf(join(folder, name), wanted))) continue
    await rm(join(folder, name), { force: true })
    count++
  }
  return count
}

async function listFiles(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return []
    throw error
  }
}

async function isOf(path: string, { tenant, user }: ForgetQuery): Promise<boolean> {
  const bytes = await readTapeBytes(path, path).catch(ignoreInvalid)
  // Deleted meanwhile.
  if (!bytes) return false
  const tape = await readTape(bytes, path).catch(ignoreInvalid)
  if (tape) return tape.runs.some(({ turn }) => turn.tenant === tenant && fieldsOf(turn.turn).user === user)
  // What is there of one that was cut off has the name, or cannot be read by anyone.
  const text = await unpack(bytes, path).catch(ignoreInvalid)
  return text?.includes(`"user":${JSON.stringify(user)}`) ?? true
}

function ignoreInvalid(error: unknown): undefined {
  if (!hasCode(error, 'TAPE_INVALID')) throw error
}
