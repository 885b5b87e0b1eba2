import { randomUUID } from 'node:crypto'
import type { Change, Entry } from '../../store/record-store.ts'
import { closedIn } from '../approvals/closed-in.ts'
import type { TurnOutcome } from '../conversations/conversation-tree.ts'
import { ROW_VERSION } from '../rows/parse-row.ts'
import { timeKey } from '../rows/tenant-part.ts'
import type { RunFacts } from '../runs/run-facts.ts'
import { isEnd, type Step } from '../runs/steps.ts'
import { DELIVERIES, putDelivery } from './delivery-rows.ts'
import type { EventType } from './event-types.ts'
import type { Webhook } from './webhook.ts'

/** Topic of those who deliver. */
export const DELIVERY_TOPIC = 'deliveries'
/** Clients of these adapters have their answer. */
const SILENT: ReadonlySet<string> = new Set(['ChatCompatApiAdapter'])

type Ended = Pick<RunFacts, 'adapter' | 'agent'> & { readonly id: string }

/** Those of a project, as its file is at any moment. */
export interface Webhooks {
  readonly all: readonly Webhook[]
}

/** Events of one tenant, as changes that are committed with what they tell. */
export class Outbox {
  readonly #hooks: Webhooks
  readonly #tenant: string

  constructor(hooks: Webhooks, tenant: string) {
    this.#hooks = hooks
    this.#tenant = tenant
  }

  /** Event of a run that ends. */
  ofEnd({ id, adapter, agent }: Ended, steps: readonly Step[], outcome?: TurnOutcome): Change[] {
    const last = steps.at(-1)
    if (this.#hooks.all.length === 0 || !isEnd(last) || isSilent(adapter)) return []
    const waits = outcome?.pending.some(({ kind }) => kind !== 'client_tool')
    const status = last.end === 'completed' && last.incomplete !== undefined ? 'incomplete' : last.end
    const order = status === 'cancelled' ? 3 : 1
    return this.#add(waits ? 'response.waiting' : `response.${status}`, id, { run: id, agent, order })
  }

  /** Events of the decisions that a commit takes. @param equal records as they were before */
  ofDecisions(changes: readonly Change[], equal?: readonly Entry[]): Change[] {
    if (this.#hooks.all.length === 0) return []
    return closedIn(changes, equal).flatMap(({ approval: { id, runId: run, agent, decision, isSilent } }) =>
      decision === null || isSilent ? [] : this.#add('approval.decided', id, { run, agent, order: 2 }),
    )
  }

  #add(
    type: EventType,
    subject: string,
    { run, agent, order }: { run: string; agent: string; order: number },
  ): Change[] {
    const [id, createdMs] = [`evt_${randomUUID()}`, Date.now()]
    const [owner = ''] = agent.split('/')
    const hooks = this.#hooks.all.filter(
      ({ events, agents, tenants }) =>
        events.has(type) &&
        tenants.includes(this.#tenant) &&
        (agents === undefined || agents.includes(agent) || agents.includes(owner)),
    )
    return hooks.flatMap(({ id: hook, shown }) => {
      const key = `${DELIVERIES}${run}:${order}${timeKey(createdMs)}${id.slice(4, 12)}:${hook}`
      const more = { createdMs, dueMs: createdMs, tries: 0, isDead: false }
      return putDelivery(key, { version: ROW_VERSION, id, type, subject, hook, shown, ...more })
    })
  }
}

/** Tells whether runs of an adapter send no events. */
export function isSilent(adapter: string): boolean {
  return SILENT.has(adapter)
}
