import type { AssembledProject } from '../../assembly/opened-project.ts'
import type { ProjectOptions } from '../../assembly/project-options.ts'
import { listSchedules } from '../../durable/schedules/list-schedules.ts'
import type { AgentSchedule } from '../../durable/schedules/schedule-row.ts'
import { agentDirFlag } from '../agents/agent-dir-flag.ts'
import { stderrLog } from '../agents/open-agents.ts'
import { pickServerFlags, readServerFlags } from './server-flags.ts'

/** Flags of the commands that work on the store of the project. */
export const storeFlags = { ...pickServerFlags(['store', 'responses-dir']), 'agent-dir': agentDirFlag }

/** Opens the project, and carries out no runs: servers on the same store do. */
export async function useProject<T>(
  flags: Readonly<Record<string, unknown>>,
  work: (project: AssembledProject, schedules: readonly AgentSchedule[]) => Promise<T>,
  more: Partial<ProjectOptions> = {},
): Promise<T> {
  const { openProject } = await import('../../assembly/open-project.ts')
  const options = { ...readServerFlags(flags), noWorker: true, drainTimeout: 1, ...more }
  const project = await openProject(options, { log: stderrLog, logsSteps: false })
  try {
    return await work(project, listSchedules(project.host))
  } finally {
    await project.close()
  }
}
