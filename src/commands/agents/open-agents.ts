import { messageOf } from '../../errors.ts'
import type { AgentFolder } from '../../host/agent-folder/agent-folder.ts'
import type { AgentHost } from '../../host/host.ts'
import { type Log, silentLog } from '../../protocols/log.ts'
import type { RunEnd } from '../../run/turn.ts'
import { resolveServerOptions } from '../../server/options/options.ts'
import type { RecordStore } from '../../store/record-store.ts'
import type { Traces } from '../../trace/traces.ts'
import { storeOfEnvironment } from '../server/server-flags.ts'
import { printError } from '../terminal/print-error.ts'

/** The agents of this project, loaded into this process. */
export interface OpenAgents {
  readonly host: AgentHost
  readonly folder: AgentFolder
  /** Opens the store of the project; its caller closes it. */
  readonly openRecords: () => Promise<RecordStore>
  /** Writes all runs from now on to ./debug, where a development server of the project sees them too; where that cannot be written, warns. */
  trace(): Promise<void>
  close(): Promise<void>
}

/** Commands wait for their own runs: others that are still running were abandoned. */
const DRAIN_SECONDS = 1

/** Runs of a command are stored nowhere. */
const GIVEN_UP = 'The command that asked has ended: the call can no longer be decided.'

/** Warnings and errors on standard error; nothing else. */
export const stderrLog: Log = Object.freeze({
  debug() {},
  info() {},
  warn: (message: string) => printError(`Warning: ${message}`),
  error: (message: string) => printError(`Error: ${message}`),
})

/**
 * Loads every agent of a folder.
 *
 * @throws HostError `PROJECT_INVALID` when the folder is not there or cannot be read
 */
export async function openAgents(agentDir: string, { log = silentLog }: { log?: Log } = {}): Promise<OpenAgents> {
  const { openProject, openTraces } = await import('../../assembly/open-project.ts')
  const options = resolveServerOptions({ agentDir, drainTimeout: DRAIN_SECONDS, ...storeOfEnvironment() })
  const project = await openProject(options, { log })
  let traces: Traces | undefined
  const waiting = new Map<string, RunEnd>()
  return {
    host: project.host,
    folder: project.agents,
    openRecords: project.openRecords,
    trace: async () => {
      traces = await openTraces(options, project.host, project).catch((error: unknown) => {
        log.warn(messageOf(error))
        return undefined
      })
      project.host.onRunEnd((end) => end.pending.length > 0 && waiting.set(end.runId, end))
      project.host.onEvent(({ continues }) => continues !== null && waiting.delete(continues))
    },
    close: async () => {
      await project.close()
      for (const run of waiting.values()) traces?.recordGivenUp(run, GIVEN_UP)
      await traces?.close()
    },
  }
}
