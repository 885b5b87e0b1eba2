import type { AgentFolder } from '../host/agent-folder.ts'
import type { AgentHost } from '../host/host.ts'
import { type Log, silentLog } from '../protocols/log.ts'
import { loadTranslation } from '../server/load-translation.ts'
import { resolveServerOptions } from '../server/options.ts'

/** The agents of this project, loaded into this process. */
export interface OpenAgents {
  readonly host: AgentHost
  readonly folder: AgentFolder
  close(): Promise<void>
}

/** Commands wait for their own runs: others that are still running were abandoned. */
const DRAIN_SECONDS = 1

/** Warnings and errors on standard error; nothing else. */
export const stderrLog: Log = Object.freeze({
  debug() {},
  info() {},
  warn: (message: string) => void process.stderr.write(`Warning: ${message}\n`),
  error: (message: string) => void process.stderr.write(`Error: ${message}\n`),
})

/**
 * Loads every agent of a folder. Traced runs are written to ./debug, where a development server of the project sees them too.
 *
 * @throws HostError `PROJECT_INVALID` when the folder is not there or cannot be read
 */
export async function openAgents(
  agentDir: string,
  { log = silentLog, isTraced = false }: { log?: Log; isTraced?: boolean } = {},
): Promise<OpenAgents> {
  const { openProject } = await import('../assembly/open-project.ts')
  const options = resolveServerOptions({ agentDir, drainTimeout: DRAIN_SECONDS })
  const project = await openProject({ ...options, debug: isTraced }, { log, logsSteps: false, loadTranslation })
  return { host: project.host, folder: project.agents, close: () => project.close() }
}
