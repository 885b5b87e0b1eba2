import { join } from 'node:path'
import type { Log } from '../protocols/log.ts'
import type { Redact } from '../trace/redact.ts'
import { Traces } from '../trace/traces.ts'
import type { ServerOptions } from './options.ts'

/** Where a project's traces are. */
export const TRACE_FOLDER = 'debug'

/** @throws HostError `STORE_UNAVAILABLE` when the folder cannot be used */
export function openTraces(
  { projectDir, debugMaxMb }: Pick<ServerOptions, 'projectDir' | 'debugMaxMb'>,
  redact: Redact,
  log: Log,
): Promise<Traces> {
  return Traces.open({ dir: join(projectDir, TRACE_FOLDER), maxBytes: debugMaxMb * 1024 * 1024, redact, log })
}
