import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import type { AdapterOptions } from '../../adapter.ts'
import { Compactor } from '../compaction/compactor.ts'
import { EarlierTurns } from '../input/earlier-turns.ts'
import { ConversationItems } from './conversation-items.ts'
import { ResponseStarter } from './response-starter.ts'

/** Parts that answer the requests of one tenant. */
export interface TenantParts {
  readonly runs: DurableRuns
  readonly items: ConversationItems
  readonly starter: ResponseStarter
  readonly compactor: Compactor
}

export interface TenantPartsOptions extends Pick<AdapterOptions, 'host' | 'describeFailure'> {
  readonly ids: RunIds
  readonly limits: AdapterOptions['options']
}

/** Makes the parts from the runs of a tenant: none of them has a way to those of another. */
export function makeTenantParts(runs: DurableRuns, options: TenantPartsOptions): TenantParts {
  const parts = { ...options, runs, earlier: new EarlierTurns(runs, options.ids) }
  const items = new ConversationItems(parts)
  const compactor = new Compactor(parts)
  const starter = new ResponseStarter({ ...parts, compactor })
  return Object.freeze({ runs, items, starter, compactor })
}
