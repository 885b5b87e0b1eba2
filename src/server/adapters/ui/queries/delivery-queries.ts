import { uuidOf } from '../../../../durable/runs/run-ids.ts'
import { type ReadDelivery, runOfDelivery } from '../../../../durable/webhooks/delivery-rows.ts'
import { listDeliveries } from '../../../../durable/webhooks/list-deliveries.ts'
import { VISITS } from '../../../../host/host.ts'
import type { Viewer } from '../viewer.ts'
import type { AgentSources } from './agent-view.ts'
import { between } from './run-view.ts'

const MAX_DELIVERIES = 500

/** The fields of `Query` about webhooks. */
export function makeDeliveryQueries({ host, durableRuns, redact }: AgentSources) {
  return {
    async deliveries({ first }: { first: number }, { seesContent, tenant }: Viewer): Promise<object[]> {
      const count = between('first', first, MAX_DELIVERIES)
      // An embedded store is made by its first use.
      if (!seesContent || !durableRuns.hasStore) return []
      const runs = await durableRuns.open()
      const tenants = tenant === undefined ? (await runs.allTenants()).map((all) => all.tenant) : [tenant]
      const { sees } = host[VISITS].current ?? {}
      const pages = await Promise.all(
        tenants.map(async (own) =>
          (await listDeliveries(runs.of(own, sees), count)).map((read) => viewDelivery(own, read, redact)),
        ),
      )
      return pages
        .flat()
        .sort((one, other) => other.created_at - one.created_at)
        .slice(0, count)
    },
  }
}

function viewDelivery(tenant: string, { key, delivery }: ReadDelivery, redact: AgentSources['redact']) {
  const { id, type, subject, shown, createdMs, dueMs, tries, isDead, error } = delivery
  return {
    id,
    tenant,
    event: type,
    subject,
    run_id: uuidOf(runOfDelivery(key)),
    url: shown,
    created_at: createdMs / 1000,
    state: isDead ? 'dead' : tries > 0 ? 'retrying' : 'waiting',
    tries,
    next_try_at: isDead ? null : dueMs / 1000,
    error: error === undefined ? null : redact(error),
  }
}
