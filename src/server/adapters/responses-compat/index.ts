import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Opening } from '../../../async.ts'
import { RunIds } from '../../../durable/runs/run-ids.ts'
import type { Adapter, InboxAdapterOptions } from '../../adapter.ts'
import { principalOf } from '../../guards/principal.ts'
import type { Dialect } from '../../replies/dialect.ts'
import { serveDialects } from '../../replies/serve-dialects.ts'
import { RESPONSE_PREFIX } from './ids.ts'
import { addApprovalRoutes } from './routes/approval-routes.ts'
import { addConversationRoutes } from './routes/conversation-routes.ts'
import { toExtendedPayload } from './routes/extended-record.ts'
import { responseOperations } from './routes/operations.ts'
import { addResponseRoutes } from './routes/response-routes.ts'
import { openParts } from './runs/open-parts.ts'
import { openUnstoredMemory } from './runs/unstored-responses.ts'

/** Agents behind a responses-compatible API: every answer is stored, can be continued, left and joined again. */
export class ResponsesCompatApiAdapter implements Adapter {
  readonly isOpen: boolean | undefined
  readonly gauges = [
    {
      name: 'agent_host_queue_depth',
      help: 'Background responses that wait, of all servers that share the store.',
      read: () => this.#parts.value.runs.queue.size(),
    },
    {
      name: 'agent_host_queue_oldest_seconds',
      help: 'Time for which the oldest of them has waited; 0 when none does.',
      read: () => this.#parts.value.runs.queue.oldestSeconds(),
    },
  ]
  readonly #options: InboxAdapterOptions
  readonly #ids = new RunIds(RESPONSE_PREFIX)
  readonly #unstored = openUnstoredMemory()
  readonly #parts = new Opening(() => openParts(this.#options, this.#ids))

  constructor(options: InboxAdapterOptions) {
    this.#options = options
    // A worker serves no routes.
    this.isOpen = options.options.workerOnly ? false : undefined
  }

  async adapt(app: FastifyInstance): Promise<void> {
    const { workerOnly, noWorker } = this.#options.options
    // The thread of the store starts while routes are added.
    const opening = this.#parts.open()
    opening.catch(() => {})
    app.addHook('onReady', async () => {
      const { delivery } = await opening
      if (!noWorker) delivery.start()
    })
    app.addHook('preClose', async () => {
      const { delivery, runs } = (await this.#whenOpen()) ?? {}
      await delivery?.stop()
      await runs?.settle()
    })
    app.addHook('onClose', async () => {
      await (await this.#whenOpen())?.runs.close()
    })
    if (!workerOnly) await serveDialects(app, this.#options, (scope, dialect) => this.#addRoutes(scope, dialect))
  }

  async checkReady(): Promise<void> {
    await this.#parts.value.runs.store.has('probe')
  }

  #addRoutes(scope: FastifyInstance, dialect: Dialect): void {
    if (dialect.isExtended) {
      scope.addHook('preSerialization', (_request, _reply, payload, done) => done(null, toExtendedPayload(payload)))
    }
    const operations = responseOperations(dialect, this.#options.requiresKey)
    const partsOf = (request: FastifyRequest) => this.#parts.value.ofTenant(principalOf(request).tenant)
    const [ids, unstored] = [this.#ids, this.#unstored]
    addResponseRoutes(scope, { adapter: this.#options, dialect, operations, ids, unstored, partsOf })
    addApprovalRoutes(scope, { partsOf, operations })
    addConversationRoutes(scope, { partsOf, operations })
  }

  /** Parts that were opened; undefined where opening has failed, which `onReady` reports. */
  #whenOpen() {
    return this.#parts.open().catch(() => undefined)
  }
}
