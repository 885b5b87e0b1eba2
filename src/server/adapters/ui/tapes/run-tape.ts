import { Readable } from 'node:stream'
import { badRequest, HostError } from '../../../../errors.ts'
import type { AgentHost } from '../../../../host/host.ts'
import { readTape, type Tape } from '../../../../tape/file/read-tape.ts'
import { openTape } from '../../../../tape/file/tape-pieces.ts'
import { toSavedRun } from '../../../../tape/saved-tests/saved-test.ts'
import type { RunSummary } from '../../../../trace/run-columns.ts'
import type { Traces } from '../../../../trace/traces.ts'

/** Data sources of tapes. */
export interface TapeSources {
  readonly traces: Traces
  readonly host: Pick<AgentHost, 'projectDir'>
}

type TapedRun = Pick<RunSummary, 'run_id' | 'server'>

/** Tells whether a run has a tape, on this server or the one that ran it. */
export async function hasTape(run: TapedRun, { traces, host }: TapeSources): Promise<boolean> {
  const file = await openTape(host.projectDir, run.run_id)
  await file?.close()
  return file !== undefined || ((await traces.remoteTape(run)?.exists()) ?? false)
}

/** Streams the tape of a run, from this server or the one that ran it; undefined where there is none. */
export async function streamTape(run: TapedRun, { traces, host }: TapeSources): Promise<Readable | undefined> {
  const file = await openTape(host.projectDir, run.run_id)
  if (file) return file.createReadStream()
  const pieces = traces.remoteTape(run)?.read()
  const first = await pieces?.next()
  return first?.done === false && pieces ? Readable.from(joined(first.value, pieces)) : undefined
}

async function* joined(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  yield* rest
}

/** Reads the tape of a run, from this server or the one that ran it; undefined where there is none, or a larger one. */
export async function readWholeTape(
  run: TapedRun,
  sources: TapeSources,
  maxBytes = Infinity,
): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = []
  let left = maxBytes
  for await (const piece of (await streamTape(run, sources)) ?? []) {
    left -= piece.length
    if (left < 0) throw badRequest(`The tape has more than ${maxBytes} bytes.`)
    pieces.push(piece)
  }
  return pieces.length === 0 ? undefined : Buffer.concat(pieces)
}

/** Maximum size of a tape that is read whole, in its file and without compression. */
export const MAX_TAPE_BYTES = 64 * 1024 * 1024

/** Reads the tape of a run for a query; undefined where there is none. @throws for a large one */
export async function readSmallTape(run: TapedRun, sources: TapeSources): Promise<Tape | undefined> {
  const bytes = await readWholeTape(run, sources, MAX_TAPE_BYTES)
  return bytes && readTape(bytes, run.run_id, MAX_TAPE_BYTES)
}

/**
 * Returns a run as the files of a test, in GraphQL; null without its tape.
 *
 * @param name of the test; undefined takes that of the command
 * @param read gives the tape; undefined where there is none
 * @throws HostError `REQUEST_INVALID` for a tape that cannot be replayed, and for a name that no file may have
 */
export async function viewSavedTest(name: string | undefined, read: () => Promise<Tape | undefined>) {
  try {
    const tape = await read()
    if (!tape) return null
    const saved = toSavedRun(tape, name)
    return {
      name: saved.name,
      test_file: saved.testFile,
      tape_file: saved.tapeFile,
      test: saved.test,
      advice: saved.advice,
    }
  } catch (error) {
    if (error instanceof HostError) throw badRequest(error.message, { cause: error })
    throw error
  }
}
