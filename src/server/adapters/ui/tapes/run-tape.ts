import { createReadStream, existsSync } from 'node:fs'
import { Readable } from 'node:stream'
import { GraphQLError } from 'graphql'
import { HostError } from '../../../../errors.ts'
import { readTape } from '../../../../tape/file/read-tape.ts'
import { pathOfTape } from '../../../../tape/file/tape-folder.ts'
import { toSavedRun } from '../../../../tape/saved-tests/saved-test.ts'
import type { RunSummary } from '../../../../trace/run-index/run-summary.ts'
import type { Traces } from '../../../../trace/traces.ts'

/** Data sources of tapes. */
export interface TapeSources {
  readonly traces: Traces
  /** Absolute path of the project. */
  readonly projectDir: string
}

type TapedRun = Pick<RunSummary, 'run_id' | 'server'>

/** Tells whether a run has a tape, on this server or the one that ran it. */
export async function hasTape(run: TapedRun, { traces, projectDir }: TapeSources): Promise<boolean> {
  return existsSync(pathOfTape(projectDir, run.run_id)) || ((await traces.remoteTape(run)?.exists()) ?? false)
}

/** Opens the tape of a run for reading, from this server or the one that ran it; undefined where there is none. */
export async function openTape(run: TapedRun, { traces, projectDir }: TapeSources): Promise<Readable | undefined> {
  const path = pathOfTape(projectDir, run.run_id)
  if (existsSync(path)) return createReadStream(path)
  const pieces = traces.remoteTape(run)?.read()
  const first = await pieces?.next()
  return first?.done === false && pieces ? Readable.from(joined(first.value, pieces)) : undefined
}

async function* joined(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  yield* rest
}

/** Reads the tape of a run, from this server or the one that ran it; undefined where there is none. */
export async function readWholeTape(run: TapedRun, sources: TapeSources): Promise<Uint8Array | undefined> {
  const stream = await openTape(run, sources)
  return stream && Buffer.concat(await stream.toArray())
}

/**
 * Returns a run as the files of a test, in GraphQL; null without its tape.
 *
 * @param name of the test; undefined takes that of the command
 * @throws GraphQLError for a tape that cannot be replayed, and for a name that no file may have
 */
export async function viewSavedTest(run: TapedRun, name: string | undefined, sources: TapeSources) {
  const bytes = await readWholeTape(run, sources)
  if (!bytes) return null
  try {
    const saved = toSavedRun(readTape(bytes, run.run_id), name)
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
