import { Args } from '@oclif/core'
import { didYouMean } from '../../definition/nearest-name.ts'
import type { AgentSchedule } from '../../durable/schedules/schedule-row.ts'
import { badOption } from '../../errors.ts'
import { BaseCommand } from '../base-command.ts'
import { pickServerFlags } from '../server/server-flags.ts'
import { storeFlags, useProject } from '../server/use-project.ts'

export default class SchedulesRun extends BaseCommand {
  static override description = 'Queues a run of a schedule now, for a server or worker on the same store.'
  static override examples = ['agent-host schedules run support/morning']
  static override args = {
    schedule: Args.string({ description: 'Schedule, as <agent>/<id>', required: true, ignoreStdin: true }),
  }
  static override flags = { ...storeFlags, ...pickServerFlags(['audit-log']) }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(SchedulesRun)
    this.requireProject()
    const { DueRuns } = await import('../../durable/schedules/due-runs.ts')
    const id = await useProject(flags, ({ host, durableRuns: service }, schedules) =>
      new DueRuns({ host, service }).startNow(pick(args.schedule, schedules)),
    )
    this.log(`Queued run ${id}.`)
  }
}

function pick(name: string, schedules: readonly AgentSchedule[]): AgentSchedule {
  const named = new Map(schedules.map((schedule) => [`${schedule.agent}/${schedule.id}`, schedule]))
  const found = named.get(name)
  if (found) return found
  const suggestions = [...didYouMean(name, [...named.keys()]), `Schedules: ${[...named.keys()].join(', ') || 'none'}`]
  throw badOption(`There is no schedule '${name}'.`, { suggestions })
}
