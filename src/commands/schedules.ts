import type { ScheduleView } from '../durable/schedules/view-schedule.ts'
import { BaseCommand } from './base-command.ts'
import { storeFlags, useProject } from './server/use-project.ts'
import { formatTable } from './terminal/format-table.ts'
import { formatTime } from './terminal/format-time.ts'

const TITLES = ['SCHEDULE', 'WHEN', 'NEXT', 'LAST', 'RESULT', 'RUN']

export default class Schedules extends BaseCommand {
  static override description =
    'Lists the schedules of the agents: their next due times, and the outcome of the last one.'
  static override examples = ['agent-host schedules', 'agent-host schedules run support/morning']
  static override flags = storeFlags

  override async run(): Promise<void> {
    const { flags } = await this.parse(Schedules)
    this.requireProject()
    const { viewSchedule } = await import('../durable/schedules/view-schedule.ts')
    const views = await useProject(flags, ({ host, durableRuns: service }, schedules) =>
      Promise.all(schedules.map((schedule) => viewSchedule(schedule, { host, service }))),
    )
    if (views.length === 0) return this.log("No agent has schedules. Add 'schedules' to an agent file.")
    this.logLines(formatTable([TITLES, ...views.map(toRow)]))
  }
}

function toRow({ agent, id, when, next, last: [last] }: ScheduleView): string[] {
  const seen = last ? [formatTime(last.due / 1000), last.status, last.run ?? '-'] : ['-', '-', '-']
  return [`${agent}/${id}`, when, next === null ? 'never' : formatTime(next / 1000), ...seen]
}
