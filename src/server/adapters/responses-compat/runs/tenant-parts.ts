import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import type { AdapterOptions } from '../../adapter.ts'
import { EarlierTurns } from '../input/earlier-turns.ts'
import { Compactor } from './compactor.ts'
import { ConversationItems } from './conversation-items.ts'
import type { ResponseRuns } from './response-runs.ts'
import { ResponseStarter } from './response-starter.ts'

/** Parts that answer the requests of one tenant. */
export interface TenantParts {
  readonly runs: ResponseRuns
  readonly items: ConversationItems
  readonly starter: ResponseStarter
  readonly compactor: Compactor
}

export interface TenantPartsOptions extends Pick<AdapterOptions, 'host' | 'describeFailure'> {
  readonly ids: RunIds
  readonly limits: AdapterOptions['options']
}

/** Makes the parts from the runs of a tenant: none of them has a way to those of another. */
export function makeTenantParts(
  runs: ResponseRuns,
  { ids, host, limits, describeFailure }: TenantPartsOptions,
): TenantParts {
  const items = new ConversationItems({ runs, ids, limits })
  const parts = { runs, ids, host, limits, earlier: new EarlierTurns(runs, ids, items) }
  const compactor = new Compactor(parts)
  return Object.freeze({
    runs,
    items,
    starter: new ResponseStarter({ ...parts, compactor, describeFailure }),
    compactor,
  })
}
