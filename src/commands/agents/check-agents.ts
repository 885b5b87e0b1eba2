import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { formatProblem, type Problem } from '../../definition/problem.ts'
import { HostError, messageOf } from '../../errors.ts'
import type { AgentHost } from '../../host/host.ts'
import { silentLog } from '../../protocols/log.ts'
import type { AgentInfo } from '../../run/agent/agent-info.ts'
import { openAgents } from './open-agents.ts'

/** Agents of a project that can be served, and what is wrong with the others. */
export interface CheckedAgents {
  readonly agents: readonly AgentInfo[]
  readonly problems: readonly Problem[]
  readonly warnings: readonly string[]
}

/** @throws HostError `PROJECT_INVALID` for a folder that does not exist or cannot be read */
export async function checkAgents(agentDir: string): Promise<CheckedAgents> {
  const said: string[] = []
  const log = { ...silentLog, warn: (message: string) => void said.push(message) }
  const { host, folder, close } = await openAgents(agentDir, { log })
  const [agents, problems] = [host.list(), [...folder.problems(), ...(await findWebhookProblems())]]
  said.push(...(await findMissingKeys(host)))
  await close()
  // Problems are logged, too.
  const isProblem = (warning: string) => problems.some((problem) => warning.startsWith(formatProblem(problem)))
  return { agents, problems, warnings: said.filter((warning) => !isProblem(warning)) }
}

/** A problem and its next steps, as a person reads them. */
export function linesOf(problem: Problem): string[] {
  return [formatProblem(problem), ...problem.suggestions.map((suggestion) => `  ${suggestion}`)]
}

/** Warnings of keys that triggers and schedules name, where there is a file of keys. */
async function findMissingKeys(host: AgentHost): Promise<string[]> {
  const path = resolve(process.env.AGENT_HOST_KEYS || 'keys.yml')
  if (!existsSync(path)) return []
  const hosts = await import('../../host/host.ts')
  const { FollowedKeys } = await import('../../server/guards/followed-keys.ts')
  try {
    const keys = await FollowedKeys.read(path, process.cwd())
    return host[hosts.MISSING_KEYS]((tenant, name) => keys.named(tenant, name) !== undefined)
  } catch (error) {
    return [messageOf(error)]
  }
}

/** Problems of the file of webhooks, where there is one. */
async function findWebhookProblems(): Promise<Problem[]> {
  const { readWebhooks } = await import('../../durable/webhooks/webhooks-file.ts')
  try {
    await readWebhooks(process.cwd(), process.env)
    return []
  } catch (error) {
    if (!(error instanceof HostError)) throw error
    return [{ message: error.message, suggestions: error.suggestions }]
  }
}
