import { messageOf } from '../../errors.ts'
import type { Log } from '../../protocols/log.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { UnreadableRows } from '../rows/unreadable-rows.ts'
import type { FollowedWebhooks } from './followed-webhooks.ts'
import type { WebhookSender } from './webhook-sender.ts'

export interface WebhookServiceOptions {
  readonly hooks: FollowedWebhooks
  readonly log: Log
  /** Leaves deliveries to other processes that share the store. */
  readonly noWorker: boolean
  readonly webhookAllowPrivate: boolean
}

/** The webhooks of a project, and the deliveries to them as long as there are any. */
export class WebhookService {
  readonly #hooks: FollowedWebhooks
  #sender: Promise<WebhookSender> | undefined

  private constructor(hooks: FollowedWebhooks) {
    this.#hooks = hooks
  }

  static async open(
    records: RecordStore,
    { hooks, log, noWorker, webhookAllowPrivate: allowPrivate }: WebhookServiceOptions,
  ): Promise<WebhookService> {
    const service = new WebhookService(hooks)
    const onFailure = (error: unknown) => log.error(`Webhooks: ${messageOf(error)}`)
    const begin = async () => {
      const { WebhookSender } = await import('./webhook-sender.ts')
      const sender = new WebhookSender({ records, hooks, allowPrivate, unreadable: new UnreadableRows(log), onFailure })
      sender.start()
      return sender
    }
    await hooks.follow(() => {
      if (hooks.all.length > 0 && !noWorker) service.#sender ??= begin()
    })
    return service
  }

  async stop(): Promise<void> {
    this.#hooks.close()
    await (await this.#sender)?.stop()
  }
}
