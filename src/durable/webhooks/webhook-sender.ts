import { messageOf } from '../../errors.ts'
import { type GuardedFetch, makeGuardedFetch } from '../../proxy/guarded-fetch.ts'
import type { Entry, RecordStore } from '../../store/record-store.ts'
import { DELIVERIES_DUE, timeKey } from '../rows/tenant-part.ts'
import type { UnreadableRows } from '../rows/unreadable-rows.ts'
import { WakeLoop } from '../wake-loop.ts'
import {
  DELIVERIES,
  type Delivery,
  type ReadDelivery,
  readDeliveries,
  readMarked,
  replaceDelivery,
  toDead,
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
  /** Deliveries that cannot be read here are left out. */
  readonly unreadable: UnreadableRows
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
  readonly #sending = new Set<Promise<unknown>>()
  /** Number of due deliveries that the last look passed over, by webhook: the next one reads as many more. */
  readonly #passed = new Map<string, number>()
  readonly #loop: WakeLoop

  constructor(options: WebhookSenderOptions) {
    const { records, allowPrivate, onFailure, now = Date.now } = options
    this.#options = options
    this.#now = now
    this.#fetch = makeWebhookFetch(allowPrivate)
    this.#loop = new WakeLoop({
      everyMs: LOOK_EVERY_MS,
      watch: (wake) => records.watch([DELIVERY_TOPIC], wake),
      look: () => this.#claimDue(),
      onFailure,
    })
  }

  start(): void {
    this.#loop.start()
  }

  /** Begins no more tries, and waits for those under way. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await Promise.all(this.#sending)
    await this.#fetch[Symbol.asyncDispose]()
  }

  /** Looks for what is due. One look at a time. */
  look(): void {
    this.#loop.wake()
  }

  /** @returns true when more may be due behind those that were passed over */
  async #claimDue(): Promise<boolean> {
    const { hooks, records } = this.#options
    const free = hooks.all.filter(({ id }) => this.#freeLanes(id) > 0)
    const before = timeKey(this.#now() + 1)
    const ranges = free.map(({ id }) => {
      const prefix = `${DELIVERIES_DUE}${id}:`
      return { prefix, before: prefix + before, limit: this.#freeLanes(id) + (this.#passed.get(id) ?? 0) }
    })
    const found = ranges.length > 0 ? await records.entriesOfEach(ranges) : []
    let mayBeMore = false
    for (const [index, marks] of found.entries()) {
      const passed = await this.#claimSome(marks, free[index] as Webhook)
      if (passed > 0 && marks.length === ranges[index]?.limit) mayBeMore = true
    }
    return mayBeMore
  }

  /** @returns the number of those that this server cannot try */
  async #claimSome(marks: readonly Entry[], hook: Webhook): Promise<number> {
    let passed = 0
    for (const [mark] of marks) if (this.#freeLanes(hook.id) > 0 && !(await this.#claim(mark, hook))) passed++
    this.#passed.set(hook.id, passed)
    return passed
  }

  #freeLanes(hook: string): number {
    return LANES - (this.#busy.get(hook) ?? 0)
  }

  /** Takes a delivery for the time of one try. */
  async #claim(mark: string, hook: Webhook): Promise<boolean> {
    const { records: all, unreadable, onFailure } = this.#options
    const read = await unreadable.read(() => readMarked(all, mark))
    if (!read) return false
    const { records } = read
    const leased = await replaceDelivery(records, read, { ...read.delivery, dueMs: this.#now() + LEASE_MS })
    if (!leased) return false
    this.#busy.set(hook.id, (this.#busy.get(hook.id) ?? 0) + 1)
    const sending = this.#try(records, leased, hook)
      .then((next) => replaceDelivery(records, leased, next))
      .catch(onFailure)
      .finally(() => {
        this.#busy.set(hook.id, (this.#busy.get(hook.id) ?? 1) - 1)
        this.#sending.delete(sending)
        this.look()
      })
    this.#sending.add(sending)
    return true
  }

  /** @returns what becomes of the delivery; undefined when it is over */
  async #try(records: RecordStore, read: ReadDelivery, hook: Webhook): Promise<Delivery | undefined> {
    const { delivery } = read
    if (delivery.isDead) return undefined
    const earlier = await this.#findEarlier(records, read)
    // A later event of a response waits for the earlier one.
    if (earlier) return { ...delivery, dueMs: nextLook(earlier, this.#now()) }
    const error = await sendEvent(this.#fetch, hook, delivery)
    return error === undefined ? undefined : afterFailure(delivery, error, this.#now())
  }

  /** Returns an event of the same response for the same webhook that is still to arrive before this one. */
  async #findEarlier(records: RecordStore, { key, delivery }: ReadDelivery): Promise<Delivery | undefined> {
    const [, run = '', order = ''] = key.split(':')
    if (order.startsWith('1')) return undefined
    const prefix = `${DELIVERIES}${run}:`
    const entries = await records.entries({ prefix, before: key, limit: MAX_EARLIER })
    const earlier = await readDeliveries(entries, this.#options.unreadable)
    return earlier.find(({ delivery: { hook, isDead } }) => hook === delivery.hook && !isDead)?.delivery
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
