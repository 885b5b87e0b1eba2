import { loadFindDue } from '../../definition/due-times.ts'
import { makeAdapterRuns } from '../adapter-runs/tenant-runs.ts'
import { DueRuns, type DueRunsOptions, SCHEDULE } from './due-runs.ts'
import type { AgentSchedule, DueOutcome } from './schedule-row.ts'

/** Schedule, as people see it. Times in Unix milliseconds. */
export interface ScheduleView {
  readonly agent: string
  readonly id: string
  readonly tenant: string
  /** `0 8 * * 1-5 (Europe/Berlin)` */
  readonly when: string
  /** Null where nothing more is due. */
  readonly next: number | null
  /** Latest first. */
  readonly last: readonly (DueOutcome & { readonly status: string })[]
}

/** Describes a schedule: when it is due, and what became of the last due times. */
export async function viewSchedule(schedule: AgentSchedule, { host, service }: DueRunsOptions): Promise<ScheduleView> {
  const { agent, id, tenant = '', cron, every, timezone = 'UTC' } = schedule
  const own = makeAdapterRuns(service, host, SCHEDULE).of(tenant)
  // Reading would create an embedded store that does not exist yet.
  const runs = service.hasStore ? (await service.open()).of(tenant) : undefined
  const statusOf = async ({ run, why = '' }: DueOutcome) =>
    run === undefined ? why : ((await own.find(run))?.status ?? 'deleted')
  const last = await runs?.unreadable.read(async () => {
    const { row } = await new DueRuns({ host, service }).read(schedule)
    return Promise.all(row.outcomes.map(async (outcome) => ({ ...outcome, status: await statusOf(outcome) })))
  })
  const when = every === undefined ? `${cron} (${timezone})` : `every ${every}`
  const findDue = await loadFindDue()
  return { agent, id, tenant, when, next: findDue(schedule, Date.now()) ?? null, last: last ?? [] }
}
