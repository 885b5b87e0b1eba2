import { existsSync, readdirSync, statSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { basename } from 'node:path'
import { badProject } from '../../errors.ts'
import { readTape, readTapeBytes, type Tape } from '../../tape/file/read-tape.ts'
import { pathOfTape, runOfFile, TAPE_FOLDER } from '../../tape/file/tape-folder.ts'
import { ambiguousId } from '../terminal/ambiguous-id.ts'

/** A tape with its file. */
export interface FoundTape {
  readonly tape: Tape
  readonly path: string
  readonly bytes: Uint8Array
}

/**
 * Reads the tape that a word of the command line means: a file, or a run of this project by its id or the beginning of it.
 *
 * @param pathOf absolute path of a file named on the command line
 * @throws HostError `TAPE_INVALID`; `PROJECT_INVALID` when it means none, or several
 */
export async function findTape(word: string, pathOf: (file: string) => string): Promise<FoundTape> {
  const path = pathOf(word)
  if (existsSync(path) && !statSync(path).isDirectory()) return open(path, basename(path))
  const runId = findTapedRun(word)
  if (runId !== undefined) return open(pathOfTape('', runId), runId, await realpath(TAPE_FOLDER))
  throw badProject(`There is no tape of a run '${word}' in ${TAPE_FOLDER}, and no file of that name.`, {
    suggestions: ['`agent-host dev` records every run, `agent-host serve --record` too; the oldest tapes are deleted.'],
  })
}

async function open(path: string, name: string, within?: string): Promise<FoundTape> {
  const bytes = await readTapeBytes(path, name, within)
  return { tape: await readTape(bytes, name), path, bytes }
}

/**
 * Returns the run of this project that has a tape and this id, or the beginning of it; undefined for none.
 *
 * @throws HostError `PROJECT_INVALID` for several
 */
export function findTapedRun(word: string): string | undefined {
  const names = existsSync(TAPE_FOLDER) ? readdirSync(TAPE_FOLDER) : []
  const found = names.flatMap((name) => runOfFile(name) ?? []).filter((runId) => runId.startsWith(word))
  const exact = found.find((runId) => runId === word)
  const [runId, other] = exact === undefined ? found : [exact]
  if (runId !== undefined && other !== undefined) {
    throw ambiguousId('PROJECT_INVALID', 'tapes', word, found)
  }
  return runId
}
