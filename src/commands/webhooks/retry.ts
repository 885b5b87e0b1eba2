import { Args } from '@oclif/core'
import { badOption } from '../../errors.ts'
import { BaseCommand } from '../base-command.ts'
import { storeFlags, useProject } from '../server/use-project.ts'
import { ambiguousId } from '../terminal/ambiguous-id.ts'

/** More deliveries than wait. */
const MAX_READ = 100_000

export default class WebhooksRetry extends BaseCommand {
  static override description = 'Tries a delivery again, as if for the first time. A server on the same store sends it.'
  static override examples = ['<%= config.bin %> webhooks retry evt_0c2f']
  static override args = {
    id: Args.string({ description: 'Delivery; its first characters are enough', required: true, ignoreStdin: true }),
  }
  static override flags = storeFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(WebhooksRetry)
    this.requireProject()
    const { listAllDeliveries } = await import('../../durable/webhooks/list-deliveries.ts')
    const { replaceDelivery } = await import('../../durable/webhooks/delivery-rows.ts')
    const ids = await useProject(flags, async ({ durableRuns }) => {
      const found = await listAllDeliveries(durableRuns, MAX_READ)
      const named = found.filter(({ delivery }) => delivery.id.startsWith(args.id))
      const ids = [...new Set(named.map(({ delivery }) => delivery.id))]
      if (ids.length > 1) throw ambiguousId('OPTION_INVALID', 'deliveries', args.id, ids)
      for (const { runs, ...read } of named)
        await replaceDelivery(runs.records, read, { ...read.delivery, isDead: false, tries: 0, dueMs: Date.now() })
      return ids
    })
    const suggestions = ['List them: agent-host webhooks list']
    if (ids.length === 0) throw badOption(`No delivery begins with '${args.id}'.`, { suggestions })
    this.log(`Queued delivery ${ids[0]}.`)
  }
}
