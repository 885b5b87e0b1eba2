import { randomUUID } from 'node:crypto'
import { Args } from '@oclif/core'
import { badOption } from '../../errors.ts'
import { BaseCommand } from '../base-command.ts'
import { fillSwitches, pickServerFlags, readServerFlags } from '../server/server-flags.ts'

export default class WebhooksTest extends BaseCommand {
  static override description = 'Sends a signed event to a webhook of webhooks.yml, and tells whether it has arrived.'
  static override examples = ['<%= config.bin %> webhooks test https://example.com/hook']
  static override args = {
    url: Args.string({
      description: 'Address of the webhook; its beginning is enough',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = pickServerFlags(['webhook-allow-private'])

  override async run(): Promise<void> {
    this.argv = fillSwitches(this.argv)
    const { args, flags } = await this.parse(WebhooksTest)
    this.requireProject()
    const { makeWebhookFetch, sendEvent } = await import('../../durable/webhooks/webhook-sender.ts')
    const { readWebhooks } = await import('../../durable/webhooks/webhooks-file.ts')
    const hooks = await readWebhooks(process.cwd(), process.env)
    const found = hooks.filter(({ url }) => url.href.startsWith(args.url))
    if (found.length !== 1 || !found[0]) {
      const suggestions = [`Webhooks: ${hooks.map(({ shown }) => shown).join(', ') || 'none'}`]
      const message = found.length === 0 ? 'No webhook has' : 'Several webhooks have'
      throw badOption(`${message} this address.`, { suggestions })
    }
    const [hook] = found
    const [type = 'response.completed'] = hook.events
    const fetch = makeWebhookFetch(readServerFlags(flags).webhookAllowPrivate)
    const event = { id: `evt_${randomUUID()}`, type, subject: 'resp_test', createdMs: Date.now() }
    const error = await sendEvent(fetch, hook, event)
    await fetch[Symbol.asyncDispose]()
    if (error !== undefined) throw badOption(`${hook.shown} has not taken the event: ${error}`)
    this.log(`${hook.shown} has taken ${event.id}, a ${type} of the response resp_test, which does not exist.`)
  }
}
