import { BaseCommand } from '../base-command.ts'
import { storeFlags, useProject } from '../server/use-project.ts'
import { formatTable } from '../terminal/format-table.ts'
import { formatTime } from '../terminal/format-time.ts'

const HOOK_TITLES = ['WEBHOOK', 'EVENTS', 'AGENTS', 'TENANTS']
const TITLES = ['DELIVERY', 'EVENT', 'OF', 'WEBHOOK', 'TRIES', 'NEXT', 'LAST ERROR']
/** Deliveries of a tenant that are listed. */
const MAX_LISTED = 100

export default class WebhooksList extends BaseCommand {
  static override description = 'Lists the webhooks of webhooks.yml, and the deliveries that have not arrived.'
  static override examples = ['<%= config.bin %> webhooks list']
  static override flags = storeFlags

  override async run(): Promise<void> {
    const { flags } = await this.parse(WebhooksList)
    this.requireProject()
    const { readWebhooks } = await import('../../durable/webhooks/webhooks-file.ts')
    const { listAllDeliveries } = await import('../../durable/webhooks/list-deliveries.ts')
    const hooks = await readWebhooks(process.cwd(), process.env)
    if (hooks.length === 0) return this.log('There are no webhooks. List them in webhooks.yml.')
    const named = hooks.map(({ shown, events, agents = ['all'], tenants }) => {
      return [shown, [...events].join(', '), agents.join(', '), tenants.map((tenant) => tenant || '-').join(', ')]
    })
    this.logLines(formatTable([HOOK_TITLES, ...named]))
    const found = await useProject(flags, ({ durableRuns }) => listAllDeliveries(durableRuns, MAX_LISTED))
    const rows = found.map(({ delivery: { id, type, subject, shown, tries, isDead, dueMs, error = '' } }) => {
      return [id, type, subject, shown, String(tries), isDead ? 'dead' : formatTime(dueMs / 1000), error]
    })
    if (rows.length > 0) this.logLines(['', ...formatTable([TITLES, ...rows])])
  }
}
