import { type TSchema, Type } from 'typebox'
import { Approval, HiddenApproval } from '../../../../wire/approval.ts'
import { Flag, Integer, nullable, Text } from '../../../../wire/schemas.ts'
import { DecisionRequest } from '../../../inbox/decision-request.ts'
import { commonErrors, describeRoutes } from '../../../openapi/describe-routes.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import { describeEvents } from './event-schemas.ts'
import { ItemsQuery, PageQuery } from './page-query.ts'
import {
  AddItems,
  Compaction,
  CompactRequest,
  CreateConversation,
  CreateRequest,
  ExtendedCreateRequest,
  InputItem,
  OutputItem,
  ResponseRecord,
  UpdateConversation,
} from './schema.ts'

/** Routes of the adapter by their names. */
export type ResponseRoutes = ReturnType<typeof responseRoutes>

/** Returns the routes of a dialect. */
export function responseRoutes(dialect: Dialect, hasKey: boolean) {
  const keyOf = hasKey ? 'responses' : undefined
  return describeRoutes(
    { tag: 'Responses', dialect, keyOf, errors: commonErrors(hasKey), schemas: SCHEMAS, compat: COMPAT },
    ROUTES,
  )
}

/** A response under `/v1`, which has states of its own. */
const Response = Type.Object({
  ...ResponseRecord.properties,
  status: Type.Enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'], { type: 'string' }),
})
const ResponseEvent = describeEvents(Response, ['completed', 'incomplete', 'failed', 'cancelled'])
const CompatResponseEvent = describeEvents(ResponseRecord, ['completed', 'failed', 'cancelled'])

const COMPAT = new Map<object, object>([
  [ExtendedCreateRequest, CreateRequest],
  [Response, ResponseRecord],
  [ResponseEvent, CompatResponseEvent],
])

const Conversation = Type.Object({
  id: Text,
  object: Type.Literal('conversation'),
  created_at: Integer,
  metadata: Type.Record(Text, Text),
})

const CallbackRequest = Type.Object({
  query: Type.String({ maxLength: 16_384, description: 'Query of the address that the site sent the person to.' }),
})
const ContinuedBy = Type.Object({
  continued_by: Type.Union([Text, Type.Null()], { description: 'Null while something else is open.' }),
})

const ById = { params: Type.Object({ id: Text }) }
const OfItem = { params: Type.Object({ id: Text, itemId: Text }) }

const IdempotencyKey = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'A repeated request gets the first answer.' }),
  ),
})

const GetQuery = Type.Object({
  stream: Type.Optional(Flag),
  starting_after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Number of the last event that the client has.',
    }),
  ),
  include: ItemsQuery.properties.include,
})

const ApprovalsQuery = Type.Object({
  status: Type.Enum(['pending', 'all'], { type: 'string', default: 'pending' }),
  ...PageQuery.properties,
})

/** An approval, hidden from pages of other origins. */
const ShownApproval = Type.Union([Approval, HiddenApproval])

const ROUTES = {
  createResponse: {
    method: 'POST',
    path: '/responses',
    summary: 'Create a response',
    description: 'With `stream: true` the answer comes as server-sent events; the last one is `[DONE]`.',
    headers: IdempotencyKey,
    schema: { body: ExtendedCreateRequest },
    returns: 'The response, or its events.',
    answer: Response,
    events: ResponseEvent,
    errors: [404, 409, 504],
  },
  compactResponse: {
    method: 'POST',
    path: '/responses/compact',
    summary: "Shorten a conversation by a summary of the agent's own model",
    schema: { body: CompactRequest },
    returns: 'What stands for the conversation from now on.',
    answer: Compaction,
    errors: [404, 409, 504],
  },
  listResponses: {
    method: 'GET',
    path: '/responses',
    summary: 'List responses',
    schema: { querystring: PageQuery },
    answer: pageOf(Response),
  },
  getResponse: {
    method: 'GET',
    path: '/responses/:id',
    summary: 'Retrieve a response',
    description: 'With `stream=true` its events are sent again, and then those that come.',
    schema: { ...ById, querystring: GetQuery },
    returns: 'The response, or its events.',
    answer: Response,
    events: ResponseEvent,
    errors: [404],
  },
  deleteResponse: {
    method: 'DELETE',
    path: '/responses/:id',
    summary: 'Delete a response',
    schema: ById,
    answer: deleted('response'),
    errors: [404],
  },
  cancelResponse: {
    method: 'POST',
    path: '/responses/:id/cancel',
    summary: 'Cancel a background response',
    schema: ById,
    answer: Response,
    errors: [404],
  },
  listInputItems: {
    method: 'GET',
    path: '/responses/:id/input_items',
    summary: 'List the input items of a response',
    schema: { ...ById, querystring: ItemsQuery },
    answer: pageOf(InputItem),
    errors: [404],
  },
  createConversation: {
    method: 'POST',
    path: '/conversations',
    summary: 'Create a conversation',
    schema: { body: Type.Optional(CreateConversation) },
    answer: Conversation,
  },
  getConversation: {
    method: 'GET',
    path: '/conversations/:id',
    summary: 'Retrieve a conversation',
    schema: ById,
    answer: Conversation,
    errors: [404],
  },
  updateConversation: {
    method: 'POST',
    path: '/conversations/:id',
    summary: 'Replace the metadata of a conversation',
    schema: { ...ById, body: UpdateConversation },
    answer: Conversation,
    errors: [404, 409],
  },
  deleteConversation: {
    method: 'DELETE',
    path: '/conversations/:id',
    summary: 'Delete a conversation; its responses stay',
    schema: ById,
    answer: deleted('conversation.deleted'),
    errors: [404, 409],
  },
  listConversationItems: {
    method: 'GET',
    path: '/conversations/:id/items',
    summary: 'List the items of a conversation',
    schema: { ...ById, querystring: Type.Omit(ItemsQuery, ['before']) },
    answer: pageOf(InputItem),
    errors: [404],
  },
  addConversationItems: {
    method: 'POST',
    path: '/conversations/:id/items',
    summary: 'Add items to a conversation',
    schema: { ...ById, body: AddItems },
    answer: pageOf(InputItem),
    errors: [404, 409],
  },
  getConversationItem: {
    method: 'GET',
    path: '/conversations/:id/items/:itemId',
    summary: 'Retrieve an item of a conversation',
    schema: OfItem,
    answer: InputItem,
    errors: [404],
  },
  deleteConversationItem: {
    method: 'DELETE',
    path: '/conversations/:id/items/:itemId',
    summary: 'Take an item out of a conversation',
    schema: OfItem,
    answer: Conversation,
    errors: [404],
  },
  listApprovals: {
    method: 'GET',
    path: '/approvals',
    scope: 'approve',
    summary: 'List calls and questions that wait for a person',
    schema: { querystring: ApprovalsQuery },
    answer: pageOf(ShownApproval),
  },
  getApproval: {
    method: 'GET',
    path: '/approvals/:id',
    scope: 'approve',
    summary: 'Retrieve an approval',
    schema: ById,
    answer: ShownApproval,
    errors: [404],
  },
  decideApproval: {
    method: 'POST',
    path: '/approvals/:id',
    scope: 'approve',
    summary: 'Decide an approval, or answer a question',
    description: 'The waiting run continues in a new response, `continued_by`. Each approval is decided once.',
    schema: { ...ById, body: DecisionRequest },
    answer: Approval,
    errors: [404, 409],
  },
  answerByCallback: {
    method: 'POST',
    path: '/approvals/callback',
    scope: 'approve',
    summary: 'Answer a question with what another site sent back',
    description: 'Sent by the page `/oauth/callback`. The `state` in the query names the question, once.',
    schema: { body: CallbackRequest },
    returns: 'The response that continues.',
    answer: ContinuedBy,
    errors: [404, 409],
  },
} as const

const SCHEMAS = {
  InputItem,
  OutputItem,
  Approval,
  HiddenApproval,
  Conversation,
  CreateRequest: ExtendedCreateRequest,
  Response,
  ResponseEvent,
  CompatCreateRequest: CreateRequest,
  CompatResponse: ResponseRecord,
  CompatResponseEvent,
}

function deleted(object: string): TSchema {
  return Type.Object({ id: Text, object: Type.Literal(object), deleted: Type.Literal(true) })
}

function pageOf(item: TSchema): TSchema {
  return Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(item),
    first_id: nullable(Text),
    last_id: nullable(Text),
    has_more: Flag,
  })
}
