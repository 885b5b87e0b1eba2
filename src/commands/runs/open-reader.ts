import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { badProject } from '../../errors.ts'
import type { RunSummary } from '../../trace/run-columns.ts'
import type { TraceReader } from '../../trace/trace-reader.ts'
import { ambiguousId, NAMED_IDS } from '../terminal/ambiguous-id.ts'
import { printError } from '../terminal/print-error.ts'

/** Maximum wait for a server to index what it and other processes wrote, such as a chat a moment ago: it looks around every second. */
const MAX_WAIT_MS = 2500

/** Of the files of an agent: the server may have another limit, but nobody waits for more to be indexed. */
const MAX_BYTES = 4 * 1024 ** 3

export const NO_RUNS = 'This project has no runs yet.'
export const TRACED_BY =
  '`agent-host dev`, `chat`, `tool` and `run` trace theirs, and `agent-host serve --debug-ui true`.'

/**
 * The traces of the project in this folder. While a server runs it keeps the index, and is waited for; otherwise this process brings
 * it up to date.
 *
 * @param mayBeNew true where runs of other servers are added
 * @throws HostError `PROJECT_INVALID` if there are none
 */
export async function openReader({ mayBeNew = false } = {}): Promise<TraceReader> {
  const dir = resolve('debug')
  if (!mayBeNew && !existsSync(dir)) {
    throw badProject(NO_RUNS, { suggestions: [TRACED_BY] })
  }
  const { TraceReader: Reader } = await import('../../trace/trace-reader.ts')
  const reader = new Reader(dir, MAX_BYTES, false, printError)
  while (reader.step());
  const { index } = reader
  if (index.missingBytes() === 0) return reader
  index.want()
  const untilMs = performance.now() + MAX_WAIT_MS
  while (index.isWanted && index.missingBytes() > 0 && performance.now() < untilMs) await setTimeout(50)
  return reader
}

/**
 * The run that an id, or its beginning, means.
 *
 * @param tenant whose run it is; undefined for a run of any
 * @throws HostError `PROJECT_INVALID` when it means none, or several
 */
export function findRun(reader: TraceReader, prefix: string, tenant?: string): RunSummary {
  const runs = reader.index.runs.like(prefix, NAMED_IDS + 1, tenant)
  const [run, other] = runs
  if (!run) {
    throw badProject(`There is no run '${prefix}'.`, {
      suggestions: ['`agent-host runs` lists the latest ones; an older one may have been rotated away.'],
    })
  }
  if (other && run.run_id !== prefix) {
    const ids = runs.map(({ run_id }) => run_id)
    throw ambiguousId('PROJECT_INVALID', 'runs', prefix, ids)
  }
  return run
}
