import type { RunService } from '../../../../durable/run-service.ts'
import type { AgentSchedule } from '../../../../durable/schedules/schedule-row.ts'
import type { ScheduleView } from '../../../../durable/schedules/view-schedules.ts'
import type { AgentHost } from '../../../../host/host.ts'

interface ScheduleSources {
  readonly host: AgentHost
  readonly durableRuns: RunService
}

/** A schedule in GraphQL. Its store is read only when a query selects more than its name. */
export function viewSchedule(schedule: AgentSchedule, sources: ScheduleSources): object {
  let reading: Promise<ScheduleView | undefined> | undefined
  const read = () => {
    reading ??= readView(schedule, sources)
    return reading
  }
  return {
    id: schedule.id,
    tenant: schedule.tenant ?? '',
    when: async () => (await read())?.when,
    next: async () => toSeconds((await read())?.next ?? null),
    last: async () =>
      (await read())?.last.map(({ due, run, status }) => ({ due: toSeconds(due), response_id: run, status })),
  }
}

async function readView(
  schedule: AgentSchedule,
  { host, durableRuns: service }: ScheduleSources,
): Promise<ScheduleView | undefined> {
  const [{ viewSchedules }, { loadFindDue }] = await Promise.all([
    import('../../../../durable/schedules/view-schedules.ts'),
    import('../../../../definition/due-times.ts'),
  ])
  return (await viewSchedules([schedule], await loadFindDue(), { host, service }))[0]
}

function toSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000
}
