import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Opening } from '../../../async.ts'
import type { GaugeSpec } from '../../../telemetry/add-gauge.ts'
import { principalOf } from '../../guards/principal.ts'
import { addApprovalRoutes } from '../../inbox/approval-routes.ts'
import { queueGauges } from '../../monitoring/queue-gauges.ts'
import { onStart } from '../../on-start.ts'
import type { Dialect } from '../../replies/dialect.ts'
import { serveDialects } from '../../replies/serve-dialects.ts'
import type { Adapter, StoreAdapterOptions } from '../adapter.ts'
import { IgnoredParts } from './input/ignored-parts.ts'
import { serveCallbackPage } from './routes/callback-page.ts'
import { addConversationRoutes } from './routes/conversation-routes.ts'
import { addResponseRoutes } from './routes/response-routes.ts'
import { responseRoutes } from './routes/table.ts'
import { LargeReplies } from './runs/large-replies.ts'
import { openParts } from './runs/open-parts.ts'
import { forgetUnstored, openUnstoredMemory } from './runs/unstored-responses.ts'

/** Agents behind a responses-compatible API: every answer is stored, can be continued, left and joined again. */
export class ResponsesCompatApiAdapter implements Adapter {
  readonly gauges: readonly GaugeSpec[]
  readonly #options: StoreAdapterOptions
  readonly #unstored = openUnstoredMemory()
  readonly #ignored = new IgnoredParts()
  readonly #large: LargeReplies
  readonly #parts = new Opening(() => openParts(this.#options))

  constructor(options: StoreAdapterOptions) {
    this.#options = options
    this.#large = new LargeReplies(options.options.maxUnsentMb)
    this.gauges = queueGauges(options.durableRuns)
  }

  async adapt(app: FastifyInstance): Promise<void> {
    // The thread of the store starts while routes are added.
    const opening = this.#parts.open()
    opening.catch(() => {})
    onStart(app, 'The store', () => opening)
    serveCallbackPage(app)
    await serveDialects(app, this.#options, (scope, dialect) => this.#addRoutes(scope, dialect))
  }

  async checkReady(): Promise<void> {
    await this.#options.durableRuns.checkReady()
  }

  forgetUser(tenant: string, user: string): number {
    return forgetUnstored(this.#unstored, tenant, user)
  }

  #addRoutes(scope: FastifyInstance, dialect: Dialect): void {
    const routes = responseRoutes(dialect, this.#options.requiresKey)
    const partsOf = (request: FastifyRequest) => this.#parts.value(principalOf(request).tenant)
    const { ids } = this.#options.durableRuns
    const shared = { routes, dialect, partsOf, ignored: this.#ignored, large: this.#large }
    addResponseRoutes(scope, { adapter: this.#options, ids, unstored: this.#unstored, ...shared })
    addApprovalRoutes(scope, { runsOf: (request) => partsOf(request).runs, ...shared })
    addConversationRoutes(scope, shared)
  }
}
