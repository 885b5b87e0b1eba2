import type { AgentHost } from '../../host/host.ts'
import type { AgentSchedule } from './schedule-row.ts'

/** Lists the schedules of the agents in service. */
export function listSchedules(host: Pick<AgentHost, 'list'>): AgentSchedule[] {
  return host.list().flatMap(({ id: agent, schedules = [] }) => schedules.map((schedule) => ({ ...schedule, agent })))
}
