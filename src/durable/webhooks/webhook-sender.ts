import { messageOf } from '../../errors.ts'
import { type GuardedFetch, makeGuardedFetch } from '../../proxy/guarded-fetch.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { parseIndexKey } from '../../store/tenant-records.ts'
import { DELIVERIES_DUE, tenantPart } from '../rows/tenant-part.ts'
import {
  DELIVERIES,
  type Delivery,
  dueKey,
  keyOfMark,
  parseDelivery,
  type ReadDelivery,
  readDelivery,
  removeDelivery,
  replaceDelivery,
  toDead,
  toSortable,
} from './delivery-rows.ts'
import type { FollowedWebhooks } from './followed-webhooks.ts'
import { DELIVERY_TOPIC } from './outbox.ts'
import { signMessage } from './signature.ts'
import type { Webhook } from './webhook.ts'

export interface WebhookSenderOptions {
  /** The whole store. */
  readonly records: RecordStore
  readonly hooks: Pick<FollowedWebhooks, 'all'>
  /** Allows addresses that are not public. */
  readonly allowPrivate: boolean
  /** Takes the failure of a look. */
  readonly onFailure: (error: unknown) => void
  /** Clock in Unix milliseconds. Default: that of the system. */
  readonly now?: () => number
}

const LOOK_EVERY_MS = 1000
const TIMEOUT_MS = 5000
/** Time that a server has for a delivery before another takes it over. */
const LEASE_MS = 30_000
/** Deliveries to one webhook at once: those to others do not wait for it. */
const LANES = 8
/** Time between tries: ten tries in 24 hours. */
const PAUSES_S = [5, 60, 300, 900, 3600, 7200, 14_400, 21_600, 28_800]
/** Number of earlier deliveries of one response that a look reads. */
const MAX_EARLIER = 1000

/** Sends events to webhooks. Any server sends each; one that dies leaves it to the others. */
export class WebhookSender {
  readonly #options: WebhookSenderOptions
  readonly #now: () => number
  readonly #fetch: ReturnType<typeof makeGuardedFetch>
  /** Number of deliveries under way, by webhook. */
  readonly #busy = new Map<string, number>()
  readonly #sending = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #unwatch = () => {}
  #working: Promise<void> | undefined
  #isAwake = false
  #isStopped = false

  constructor(options: WebhookSenderOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#fetch = makeWebhookFetch(options.allowPrivate)
  }

  start(): void {
    const wake = () => this.look()
    this.#unwatch = this.#options.records.watch([DELIVERY_TOPIC], wake)
    this.#timer = setInterval(wake, LOOK_EVERY_MS).unref()
    wake()
  }

  /** Begins no more tries, and waits for those under way. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    this.#unwatch()
    await this.#working
    await Promise.all(this.#sending)
    await this.#fetch[Symbol.asyncDispose]()
  }

  /** Looks for what is due. One look at a time. */
  look(): void {
    this.#isAwake = true
    if (!this.#isStopped) this.#working ??= this.#work()
  }

  async #work(): Promise<void> {
    try {
      while (this.#isAwake && !this.#isStopped) {
        this.#isAwake = false
        await this.#claimDue()
      }
    } catch (error) {
      this.#options.onFailure(error)
    } finally {
      this.#working = undefined
    }
  }

  async #claimDue(): Promise<void> {
    const { hooks, records } = this.#options
    const free = hooks.all.filter(({ id }) => this.#freeLanes(id) > 0)
    if (free.length === 0) return
    const before = toSortable(this.#now() + 1)
    const found = await records.entriesOfEach(
      free.map(({ id }) => {
        const prefix = `${DELIVERIES_DUE}${id}:`
        return { prefix, before: prefix + before, limit: this.#freeLanes(id) }
      }),
    )
    for (const [index, marks] of found.entries())
      for (const [mark] of marks) await this.#claim(mark, free[index] as Webhook)
  }

  #freeLanes(hook: string): number {
    return LANES - (this.#busy.get(hook) ?? 0)
  }

  /** Takes a delivery for the time of one try. */
  async #claim(indexKey: string, hook: Webhook): Promise<void> {
    const { tenant, id } = parseIndexKey(DELIVERIES_DUE, indexKey)
    const records = tenantPart(this.#options.records, tenant)
    const mark = DELIVERIES_DUE + id
    const read = await readDelivery(records, keyOfMark(mark))
    if (!read || dueKey(read.key, read.delivery) !== mark) return void (await records.commit([[mark, undefined]]))
    const leased = await replaceDelivery(records, read, { ...read.delivery, dueMs: this.#now() + LEASE_MS })
    if (!leased) return
    this.#busy.set(hook.id, (this.#busy.get(hook.id) ?? 0) + 1)
    const sending = this.#deliver(records, leased, hook)
      .catch((error) => this.#options.onFailure(error))
      .finally(() => {
        this.#busy.set(hook.id, (this.#busy.get(hook.id) ?? 1) - 1)
        this.#sending.delete(sending)
        this.look()
      })
    this.#sending.add(sending)
  }

  async #deliver(records: RecordStore, read: ReadDelivery, hook: Webhook): Promise<void> {
    const { delivery } = read
    if (delivery.isDead) return void (await removeDelivery(records, read))
    const earlier = await findEarlier(records, read)
    // A later event of a response waits for the earlier one.
    if (earlier)
      return void (await replaceDelivery(records, read, { ...delivery, dueMs: nextLook(earlier, this.#now()) }))
    const error = await sendEvent(this.#fetch, hook, delivery)
    if (error === undefined) await removeDelivery(records, read)
    else await replaceDelivery(records, read, afterFailure(delivery, error, this.#now()))
  }
}

/** A delivery under a try is through soon: its mark says when another server would take it over. */
function nextLook({ dueMs }: Delivery, nowMs: number): number {
  const isSoon = dueMs <= nowMs + LEASE_MS
  return isSoon ? nowMs + LOOK_EVERY_MS : dueMs + 1
}

function afterFailure(delivery: Delivery, error: string, nowMs: number): Delivery {
  const pauseS = PAUSES_S[delivery.tries]
  const tried = { ...delivery, tries: delivery.tries + 1, error }
  return pauseS === undefined ? toDead(tried, nowMs) : { ...tried, dueMs: nowMs + pauseS * 1000 }
}

/** Returns an event of the same response for the same webhook that is still to arrive before this one. */
async function findEarlier(records: RecordStore, { key, delivery }: ReadDelivery): Promise<Delivery | undefined> {
  const [, run = '', order = ''] = key.split(':')
  if (order.startsWith('1')) return undefined
  const prefix = `${DELIVERIES}${run}:`
  const entries = await records.entries({ prefix, before: key, limit: MAX_EARLIER })
  const earlier = entries.map(([other, text]) => parseDelivery(other, text))
  return earlier.find(({ hook, isDead }) => hook === delivery.hook && !isDead)
}

export function makeWebhookFetch(allowPrivate: boolean): ReturnType<typeof makeGuardedFetch> {
  return makeGuardedFetch({
    namedHosts: { has: () => allowPrivate },
    advice: '--webhook-allow-private allows such addresses.',
    maxBytes: 0,
  })
}

/**
 * Sends an event once.
 *
 * @returns why it has not arrived; undefined when it has
 */
export async function sendEvent(
  fetch: GuardedFetch,
  { url, secrets }: Webhook,
  { id, type, subject, createdMs }: Pick<Delivery, 'id' | 'type' | 'subject' | 'createdMs'>,
): Promise<string | undefined> {
  const created_at = Math.floor(createdMs / 1000)
  const body = JSON.stringify({ id, object: 'event', created_at, type, data: { id: subject } })
  const timestamp = Math.floor(Date.now() / 1000)
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'agent-host',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signMessage({ id, timestamp, body }, secrets),
  }
  try {
    const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(TIMEOUT_MS) })
    // Only the status counts, however long the body is.
    await response.body?.cancel()
    return response.ok ? undefined : `It answered ${response.status}.`
  } catch (error) {
    return messageOf(error)
  }
}
