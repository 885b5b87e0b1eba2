import { messageOf } from '../../errors.ts'
import type { Log } from '../../protocols/log.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { UnreadableRows } from '../rows/unreadable-rows.ts'
import type { FollowedWebhooks } from './followed-webhooks.ts'
import type { WebhookSender } from './webhook-sender.ts'

export interface OpenWebhooksOptions {
  readonly hooks: FollowedWebhooks
  readonly log: Log
  /** Leaves deliveries to other processes that share the store. */
  readonly noWorker: boolean
  readonly webhookAllowPrivate: boolean
}

export interface OpenWebhooks {
  stop(): Promise<void>
}

/** Follows the webhooks of a project, and sends what is due as long as there are any. */
export async function openWebhooks(
  records: RecordStore,
  { hooks, log, noWorker, webhookAllowPrivate: allowPrivate }: OpenWebhooksOptions,
): Promise<OpenWebhooks> {
  let sender: Promise<WebhookSender> | undefined
  const begin = async () => {
    const { WebhookSender } = await import('./webhook-sender.ts')
    const onFailure = (error: unknown) => log.error(`Webhooks: ${messageOf(error)}`)
    const begun = new WebhookSender({ records, hooks, allowPrivate, unreadable: new UnreadableRows(log), onFailure })
    begun.start()
    return begun
  }
  await hooks.follow(() => {
    if (hooks.all.length > 0 && !noWorker) sender ??= begin()
  })
  return {
    stop: async () => {
      hooks.close()
      await (await sender)?.stop()
    },
  }
}
