import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ConversationRecord } from '../../../../durable/conversations/conversation-store.ts'
import { principalOf } from '../../../guards/principal.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import type { IgnoredParts } from '../input/ignored-parts.ts'
import type { LargeReplies } from '../runs/large-replies.ts'
import type { TenantParts } from '../runs/tenant-parts.ts'
import { toPage } from './pages.ts'
import type { RawInputItem } from './schema.ts'
import type { ResponseRoutes } from './table.ts'

export interface ConversationRoutesOptions {
  /** Returns the parts of the tenant of a request. */
  readonly partsOf: (request: FastifyRequest) => TenantParts
  readonly routes: ResponseRoutes
  readonly ignored: IgnoredParts
  readonly dialect: Dialect
  readonly large: LargeReplies
}

/** Conversations, and the items in them. */
export function addConversationRoutes(scope: FastifyInstance, options: ConversationRoutesOptions): void {
  addOwnRoutes(scope, options)
  addItemRoutes(scope, options)
}

function addOwnRoutes(scope: FastifyInstance, options: ConversationRoutesOptions): void {
  const { partsOf, routes } = options
  const conversationsOf = (request: FastifyRequest) => partsOf(request).runs.conversations
  scope.route({
    ...routes.createConversation(async (request, reply) => {
      const { metadata, items } = request.body
      const added = items ?? []
      nameIgnored(added, options, request, reply)
      const turn = added.length > 0 ? await partsOf(request).items.makeTurn(added) : undefined
      return toView(await conversationsOf(request).create(metadata ?? {}, turn, principalOf(request).name))
    }),
    preValidation: acceptNoBody,
  })
  scope.route(routes.getConversation(async (request) => toView(await conversationsOf(request).get(request.params.id))))
  scope.route(
    routes.updateConversation(async (request) => {
      const { params, body } = request
      return toView(await conversationsOf(request).update(params.id, body.metadata ?? {}))
    }),
  )
  scope.route(
    routes.deleteConversation(async (request) => {
      const { id } = request.params
      const { conversations, store } = partsOf(request).runs
      await conversations.delete(id, (runId) => store.has(runId))
      return { id, object: 'conversation.deleted', deleted: true }
    }),
  )
}

function addItemRoutes(scope: FastifyInstance, options: ConversationRoutesOptions): void {
  const { partsOf, routes, large } = options
  scope.route(
    routes.listConversationItems((request, reply) => {
      const { params, query } = request
      const { items, runs } = partsOf(request)
      return large.readPage(reply, async () => items.list(await runs.conversations.get(params.id), query))
    }),
  )
  scope.route(
    routes.addConversationItems(async (request, reply) => {
      const { params, body } = request
      nameIgnored(body.items, options, request, reply)
      return toPage(await partsOf(request).items.add(params.id, body.items), false)
    }),
  )
  scope.route(
    routes.getConversationItem((request, reply) => {
      const { id, itemId } = request.params
      const { items, runs } = partsOf(request)
      return large.readPage(reply, async () => items.get(await runs.conversations.get(id), itemId))
    }),
  )
  scope.route(
    routes.deleteConversationItem(async (request) => {
      const { id, itemId } = request.params
      const { items, runs } = partsOf(request)
      const row = await runs.conversations.get(id)
      await items.remove(row, itemId)
      return toView(row)
    }),
  )
}

function nameIgnored(
  items: readonly RawInputItem[],
  { ignored, dialect }: ConversationRoutesOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const named = ignored.findItems(items, dialect, request)
  if (named !== undefined) reply.header('x-ignored', named)
}

/** A conversation needs nothing to begin with. */
function acceptNoBody(request: FastifyRequest, _reply: unknown, done: () => void): void {
  request.body ??= {}
  done()
}

function toView({ id, createdAt, metadata }: ConversationRecord) {
  return { id, object: 'conversation' as const, created_at: createdAt, metadata }
}
