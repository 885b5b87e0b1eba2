import type { RunService } from '../../../../durable/run-service.ts'
import type { AgentSchedule } from '../../../../durable/schedules/schedule-row.ts'
import type { ScheduleView } from '../../../../durable/schedules/view-schedule.ts'
import type { AgentHost } from '../../../../host/host.ts'

interface ScheduleSources {
  readonly host: AgentHost
  readonly durableRuns: RunService
}

/** A schedule in GraphQL. Its store is read only when a query selects more than its name. */
export function describeSchedule(schedule: AgentSchedule, { host, durableRuns: service }: ScheduleSources): object {
  let reading: Promise<ScheduleView> | undefined
  const read = async () => {
    const { viewSchedule } = await import('../../../../durable/schedules/view-schedule.ts')
    reading ??= viewSchedule(schedule, { host, service })
    return reading
  }
  return {
    id: schedule.id,
    tenant: schedule.tenant ?? '',
    when: async () => (await read()).when,
    next: async () => toSeconds((await read()).next),
    last: async () =>
      (await read()).last.map(({ due, run, status }) => ({ due: toSeconds(due), response_id: run, status })),
  }
}

function toSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000
}
