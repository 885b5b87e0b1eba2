import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { StoredConversation } from '../../../../durable/conversations/conversation-store.ts'
import type { TenantParts } from '../runs/tenant-parts.ts'
import type { Describe } from './describe-responses.ts'
import { toPage } from './pages.ts'
import { type Query, readPageQuery } from './read-query.ts'
import { AddItems, CreateConversation, UpdateConversation } from './schema.ts'

export interface ConversationRoutesOptions {
  /** Returns the parts of the tenant of a request. */
  readonly partsOf: (request: FastifyRequest) => TenantParts
  readonly describe: Describe
}

interface ById {
  Params: { id: string }
}

interface OfItem {
  Params: { id: string; itemId: string }
}

/** Conversations, and the items in them. */
export function addConversationRoutes(scope: FastifyInstance, { partsOf, describe }: ConversationRoutesOptions): void {
  const conversationsOf = (request: FastifyRequest) => partsOf(request).runs.conversations
  const typed = scope.withTypeProvider<TypeBoxTypeProvider>()
  const params = Type.Object({ id: Type.String() })
  typed.post(
    '/conversations',
    { ...describe('createConversation'), schema: { body: CreateConversation }, preValidation: acceptNoBody },
    async (request) => {
      const { items: added, metadata } = request.body
      const turn = added && added.length > 0 ? partsOf(request).items.makeTurn(added) : undefined
      return toView(await conversationsOf(request).create(metadata ?? {}, turn))
    },
  )
  typed.post(
    '/conversations/:id',
    { ...describe('updateConversation'), schema: { params, body: UpdateConversation } },
    async (request) => {
      const { params, body } = request
      return toView(await conversationsOf(request).update(params.id, body.metadata ?? {}))
    },
  )
  typed.post(
    '/conversations/:id/items',
    { ...describe('addConversationItems'), schema: { params, body: AddItems } },
    async (request) => {
      const { params, body } = request
      return toPage(await partsOf(request).items.add(params.id, body.items), false)
    },
  )
  scope.get<ById>('/conversations/:id', describe('getConversation'), async (request) =>
    toView(await conversationsOf(request).get(request.params.id)),
  )
  scope.delete<ById>('/conversations/:id', describe('deleteConversation'), async (request) => {
    const { id } = request.params
    const { conversations, store } = partsOf(request).runs
    await conversations.delete(id, (runId) => store.has(runId))
    return { id, object: 'conversation.deleted', deleted: true }
  })
  scope.get<ById & { Querystring: Query }>(
    '/conversations/:id/items',
    describe('listConversationItems'),
    async (request) => {
      const { params, query } = request
      const { items, runs } = partsOf(request)
      return items.list(await runs.conversations.get(params.id), readPageQuery(query))
    },
  )
  scope.get<OfItem>('/conversations/:id/items/:itemId', describe('getConversationItem'), async (request) => {
    const { id, itemId } = request.params
    const { items, runs } = partsOf(request)
    return items.get(await runs.conversations.get(id), itemId)
  })
  scope.delete<OfItem>('/conversations/:id/items/:itemId', describe('deleteConversationItem'), async (request) => {
    const { id, itemId } = request.params
    const { items, runs } = partsOf(request)
    const row = await runs.conversations.get(id)
    await items.get(row, itemId)
    await runs.conversations.removeItem(id, itemId)
    return toView(row)
  })
}

/** A conversation needs nothing to begin with. */
function acceptNoBody(request: FastifyRequest, _reply: unknown, done: () => void): void {
  request.body ??= {}
  done()
}

function toView({ id, createdAt, metadata }: StoredConversation) {
  return { id, object: 'conversation' as const, created_at: createdAt, metadata }
}
