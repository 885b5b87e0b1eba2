import { messageOf } from '../../errors.ts'
import type { Log } from '../../protocols/log.ts'
import type { RecordStore } from '../../store/record-store.ts'
import type { Deliveries } from './deliveries.ts'
import type { FollowedWebhooks } from './followed-webhooks.ts'

export interface WebhookSenderOptions {
  readonly hooks: FollowedWebhooks
  readonly log: Log
  /** Leaves deliveries to other processes that share the store. */
  readonly noWorker: boolean
  readonly webhookAllowPrivate: boolean
}

/** The webhooks of a project, and the deliveries to them as long as there are any. */
export class WebhookSender {
  readonly #hooks: FollowedWebhooks
  #deliveries: Promise<Deliveries> | undefined

  private constructor(hooks: FollowedWebhooks) {
    this.#hooks = hooks
  }

  static async open(
    records: RecordStore,
    { hooks, log, noWorker, webhookAllowPrivate: allowPrivate }: WebhookSenderOptions,
  ): Promise<WebhookSender> {
    const sender = new WebhookSender(hooks)
    const onFailure = (error: unknown) => log.error(`Webhooks: ${messageOf(error)}`)
    const begin = async () => {
      const { Deliveries } = await import('./deliveries.ts')
      const deliveries = new Deliveries({ records, hooks, allowPrivate, onFailure })
      deliveries.start()
      return deliveries
    }
    await hooks.follow(() => {
      if (hooks.all.length > 0 && !noWorker) sender.#deliveries ??= begin()
    })
    return sender
  }

  async stop(): Promise<void> {
    this.#hooks.close()
    await (await this.#deliveries)?.stop()
  }
}
