import { importPeer } from '../../store/import-peer.ts'
import { BullDelivery, type BullPackage } from './bull-delivery.ts'
import { QueuePoller } from './queue-poller.ts'
import type { RunQueue } from './run-queue.ts'
import type { Claimer } from './run-worker.ts'

export interface DeliveryOptions {
  /** Address of the Redis of BullMQ; undefined: workers look into the store. */
  readonly queue?: string | undefined
  readonly projectDir: string
  readonly maxBackgroundRuns: number
}

/**
 * Opens the delivery of queued runs to a worker.
 *
 * @throws HostError `OPTION_INVALID` when BullMQ is not installed
 */
export async function openDelivery(
  queue: RunQueue,
  worker: Claimer,
  { queue: url, projectDir, maxBackgroundRuns: concurrency }: DeliveryOptions,
): Promise<QueuePoller | BullDelivery> {
  if (url === undefined) return new QueuePoller(queue, worker)
  const bull = await importPeer<BullPackage>(
    'bullmq',
    projectDir,
    '--queue',
    'leave --queue out: the store has a queue.',
  )
  return new BullDelivery({ bull, url, queue, worker, concurrency })
}
