import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { StoredConversation } from '../../../../durable/conversations/conversation-store.ts'
import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { ConversationItems } from '../runs/conversation-items.ts'
import type { Describe } from './describe-responses.ts'
import { toPage } from './pages.ts'
import { type Query, readPageQuery } from './read-query.ts'
import { AddItems, CreateConversation, type InputItem, type ResponseRecord, UpdateConversation } from './schema.ts'

export interface ConversationRoutesOptions {
  readonly runs: () => DurableRuns<ResponseRecord, InputItem>
  readonly items: () => ConversationItems
  readonly describe: Describe
}

interface ById {
  Params: { id: string }
}

interface OfItem {
  Params: { id: string; itemId: string }
}

/** Conversations, and the items in them. */
export function addConversationRoutes(
  scope: FastifyInstance,
  { runs, items, describe }: ConversationRoutesOptions,
): void {
  const conversations = () => runs().conversations
  const typed = scope.withTypeProvider<TypeBoxTypeProvider>()
  const params = Type.Object({ id: Type.String() })
  typed.post(
    '/conversations',
    { ...describe('createConversation'), schema: { body: CreateConversation }, preValidation: acceptNoBody },
    async ({ body: { items: added, metadata } }) => {
      const turn = added && added.length > 0 ? items().makeTurn(added) : undefined
      return toView(await conversations().create(metadata ?? {}, turn))
    },
  )
  typed.post(
    '/conversations/:id',
    { ...describe('updateConversation'), schema: { params, body: UpdateConversation } },
    async ({ params, body }) => toView(await conversations().update(params.id, body.metadata ?? {})),
  )
  typed.post(
    '/conversations/:id/items',
    { ...describe('addConversationItems'), schema: { params, body: AddItems } },
    async ({ params, body }) => toPage(await items().add(params.id, body.items), false),
  )
  scope.get<ById>('/conversations/:id', describe('getConversation'), async ({ params }) =>
    toView(await conversations().get(params.id)),
  )
  scope.delete<ById>('/conversations/:id', describe('deleteConversation'), async ({ params: { id } }) => {
    await conversations().delete(id, (runId) => runs().store.has(runId))
    return { id, object: 'conversation.deleted', deleted: true }
  })
  scope.get<ById & { Querystring: Query }>(
    '/conversations/:id/items',
    describe('listConversationItems'),
    async ({ params, query }) => items().list(await conversations().get(params.id), readPageQuery(query)),
  )
  scope.get<OfItem>('/conversations/:id/items/:itemId', describe('getConversationItem'), async ({ params }) =>
    items().get(await conversations().get(params.id), params.itemId),
  )
  scope.delete<OfItem>('/conversations/:id/items/:itemId', describe('deleteConversationItem'), async ({ params }) => {
    const row = await conversations().get(params.id)
    await items().get(row, params.itemId)
    await conversations().removeItem(params.id, params.itemId)
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
