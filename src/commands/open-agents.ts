import { resolve } from 'node:path'
import type { AgentFolder } from '../host/agent-folder.ts'
import type { AgentHost } from '../host/host.ts'
import { type Log, silentLog } from '../protocols/log.ts'

/** The agents of this project, loaded into this process. */
export interface OpenAgents {
  readonly host: AgentHost
  readonly folder: AgentFolder
  close(): Promise<void>
}

const CLOSE_MS = 1000

/** Warnings and errors on standard error; nothing else. */
export const stderrLog: Log = Object.freeze({
  debug() {},
  info() {},
  warn: (message: string) => void process.stderr.write(`Warning: ${message}\n`),
  error: (message: string) => void process.stderr.write(`Error: ${message}\n`),
})

/**
 * Loads every agent of a folder.
 *
 * @throws HostError `PROJECT_INVALID` when the folder is not there or cannot be read
 */
export async function openAgents(agentDir: string, log: Log = silentLog): Promise<OpenAgents> {
  const { AgentHost: Host } = await import('../host/host.ts')
  const { AgentFolder: Folder } = await import('../host/agent-folder.ts')
  const host = new Host({ log })
  const folder = new Folder(host, resolve(agentDir), log)
  const close = () => host.close(CLOSE_MS)
  try {
    await folder.scan()
  } catch (error) {
    await close()
    throw error
  }
  return { host, folder, close }
}
