import { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { BullDelivery } from '../../../../durable/queue/bull-delivery.ts'
import { openDelivery } from '../../../../durable/queue/open-delivery.ts'
import type { QueuePoller } from '../../../../durable/queue/queue-poller.ts'
import { RunWorker } from '../../../../durable/queue/run-worker.ts'
import { ServedAgents } from '../../../../durable/queue/served-agents.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import type { InboxAdapterOptions } from '../../../adapter.ts'
import { logFailure } from '../../../replies/error-replies.ts'
import type { InputItem, ResponseRecord } from '../routes/schema.ts'
import { describeContinuation } from './continuation.ts'
import { StoredInbox } from './stored-inbox.ts'
import { makeTenantParts, type TenantParts } from './tenant-parts.ts'

/** Parts of the adapter that need the store. */
export interface ResponseParts {
  readonly runs: DurableRuns<ResponseRecord, InputItem>
  /** Delivers queued runs to the worker of this process. */
  readonly delivery: QueuePoller | BullDelivery
  /** Returns the parts of a tenant. */
  readonly ofTenant: (tenant: string) => TenantParts
}

/** Opens the store, and fills the inbox of the server. */
export async function openParts(
  { host, log, options, describeFailure, openRecords, inboxSlot }: InboxAdapterOptions,
  ids: RunIds,
): Promise<ResponseParts> {
  const { retentionDays, maxQueuedRuns } = options
  const tenants = new Map<string, TenantParts>()
  const ofTenant = (tenant: string): TenantParts => {
    const parts =
      tenants.get(tenant) ?? makeTenantParts(runs.of(tenant), { ids, host, limits: options, describeFailure })
    tenants.set(tenant, parts)
    return parts
  }
  const continuation = describeContinuation({ partsOf: ofTenant, host, limits: options })
  const runs: DurableRuns<ResponseRecord, InputItem> = await DurableRuns.open({
    ...{ records: await openRecords(), ids, retentionDays, maxQueuedRuns, log, host, continuation },
  })
  inboxSlot.inboxOf = (tenant) => new StoredInbox({ runs: runs.of(tenant), ids, host })
  const onFailure = (error: unknown, id = 'the queue') => logFailure(error, { id, log })
  const { readMessages } = continuation
  const served = new ServedAgents(runs.queue, (agent) => host.has(agent))
  const worker = new RunWorker({ runs, host, served, readMessages, describeFailure, onFailure })
  return Object.freeze({ runs, ofTenant, delivery: await openDelivery(runs.queue, worker, options) })
}
