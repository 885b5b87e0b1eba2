import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import type { StoredRun } from '../../../../durable/runs/run-store.ts'
import { badRequest, HostError } from '../../../../errors.ts'
import { liftDataUrls } from '../../../bodies/lift-data-urls.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import { signalOfLeaving } from '../../../streams/serve-turn.ts'
import { acceptUpgrade, isUpgrade, routeUpgrades } from '../../../streams/upgrade-route.ts'
import type { AdapterOptions } from '../../adapter.ts'
import { findMissing } from '../input/find-missing.ts'
import type { IgnoredParts } from '../input/ignored-parts.ts'
import { resumeByApproval } from '../input/resume-by-approval.ts'
import { findResponse } from '../runs/find-response.ts'
import type { LargeReplies } from '../runs/large-replies.ts'
import type { TenantParts } from '../runs/tenant-parts.ts'
import type { UnstoredMemory } from '../runs/unstored-responses.ts'
import { CreateRoute } from './create-route.ts'
import { listInputItems, listResponses } from './pages.ts'
import { ResponseReplies } from './response-replies.ts'
import { ResponseSocket } from './response-socket.ts'
import type { ResponseRoutes } from './table.ts'

export interface ResponseRoutesOptions {
  readonly adapter: AdapterOptions
  readonly dialect: Dialect
  readonly routes: ResponseRoutes
  readonly ids: RunIds
  readonly unstored: UnstoredMemory
  readonly ignored: IgnoredParts
  readonly large: LargeReplies
  /** Returns the parts of the tenant of a request. */
  readonly partsOf: (request: FastifyRequest) => TenantParts
}

/** Responses: created, read, listed, cancelled, deleted, over HTTP and WebSockets. */
export function addResponseRoutes(scope: FastifyInstance, options: ResponseRoutesOptions): void {
  const { adapter, routes, dialect, ids, large, partsOf } = options
  const replies = new ResponseReplies(adapter, dialect, partsOf)
  const create = new CreateRoute(replies, options)
  scope.route({
    ...routes.createResponse((request, reply) => create.handle(resumeByApproval(request.body), request, reply)),
    ...liftDataUrls(),
    preValidation: (request, _reply, done) => done(findMissing(request.body)),
  })
  scope.route(
    routes.compactResponse((request, reply) =>
      partsOf(request).compactor.compact(request.body, signalOfLeaving(reply)),
    ),
  )
  // Without a route of its own it would be the id of a response.
  scope.post('/responses/input_tokens', { schema: { hide: true } }, async () => {
    throw Object.assign(new Error('Tokens are counted while an agent runs, and reported as usage'), { statusCode: 404 })
  })
  scope.route(
    routes.getResponse(async (request, reply) => {
      const { stream = false, starting_after: after = 0 } = request.query
      const stored = await large.readResponse(reply, stream, request.params.id, () => find(request, options))
      return stream ? replies.join(stored, after, request, reply) : replies.toRecord(stored)
    }),
  )
  scope.route(
    routes.deleteResponse(async (request) => {
      const { id } = request.params
      if (!ids.isId(id) || !(await partsOf(request).runs.delete(id))) throw notFound()
      return { id, object: 'response', deleted: true }
    }),
  )
  scope.route(
    routes.cancelResponse(async (request, reply) =>
      replies.toRecord(await large.readResponse(reply, false, request.params.id, () => cancel(request, options))),
    ),
  )
  scope.route(
    routes.listInputItems((request, reply) =>
      large.readPage(reply, async () =>
        listInputItems(partsOf(request).runs.store, await find(request, options), request.query),
      ),
    ),
  )
  if (dialect.isExtended) routeUpgrades(scope)
  // Without a key each caller could read the responses of all.
  if (adapter.requiresKey) addListRoute(scope, options, replies)
  else if (dialect.isExtended) addSocketRoute(scope, options)
}

function addListRoute(scope: FastifyInstance, options: ResponseRoutesOptions, replies: ResponseReplies): void {
  const { routes, dialect, ids, large, partsOf } = options
  scope.route(
    routes.listResponses(async (request, reply) => {
      if (isUpgrade(request) && dialect.isExtended) return openSocket(request, reply, options)
      const { runs } = partsOf(request)
      const read = async (id: string) => {
        const stored = await runs.unreadable.read(() => findResponse(runs, id))
        return stored && replies.toRecord(stored)
      }
      return large.readPage(reply, () => listResponses(runs.store, ids, request.query, read))
    }),
  )
}

/** The path of the list, for WebSockets alone. */
function addSocketRoute(scope: FastifyInstance, options: ResponseRoutesOptions): void {
  scope.get('/responses', { schema: { hide: true } as object }, async (request, reply) => {
    if (isUpgrade(request)) return openSocket(request, reply, options)
    reply.header('upgrade', 'websocket')
    throw Object.assign(new Error('Upgrade to a WebSocket, or send POST'), { statusCode: 426 })
  })
}

async function openSocket(
  request: FastifyRequest,
  reply: FastifyReply,
  { adapter, unstored, ignored, partsOf }: ResponseRoutesOptions,
): Promise<FastifyReply> {
  const { corsOrigins: origins, bodyLimit: maxPayload } = adapter.options
  const parts = { ...adapter, starter: partsOf(request).starter, unstored, ignored }
  await acceptUpgrade(
    request,
    reply,
    { origins, maxPayload },
    (socket) => void new ResponseSocket(socket, request, parts),
  )
  return reply
}

async function find(
  request: FastifyRequest<{ Params: { id: string } }>,
  { ids, partsOf }: ResponseRoutesOptions,
): Promise<StoredRun> {
  const { id } = request.params
  const stored = ids.isId(id) ? await findResponse(partsOf(request).runs, id) : undefined
  if (!stored) throw notFound()
  return stored
}

async function cancel(request: FastifyRequest<{ Params: { id: string } }>, options: ResponseRoutesOptions) {
  const { id, facts } = await find(request, options)
  if (!facts.options.background) throw badRequest('Only background responses can be cancelled')
  const cancelled = await options.partsOf(request).runs.cancel(id)
  if (!cancelled) throw notFound()
  return cancelled
}

function notFound(): HostError {
  return new HostError('RESPONSE_NOT_FOUND', 'Response not found')
}
