import { type TSchema, Type } from 'typebox'
import { Approval, HiddenApproval } from '../../../../wire/approval.ts'
import { DecisionRequest } from '../../../inbox/decision-request.ts'
import {
  BODY_ERRORS,
  commonErrors,
  json,
  jsonOrEvents,
  makeOperation,
  type RouteGroup,
  ref,
} from '../../../openapi/describe-route.ts'
import { nullable } from '../../../openapi/schemas.ts'
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

/** Routes of the adapter by their operations: the schemas that check their requests and give their types, and their description. */
export type Operations = ReturnType<typeof responseOperations>

/** Returns the routes of a dialect. */
export function responseOperations(dialect: Dialect, hasKey: boolean) {
  const { isExtended } = dialect
  const prefix = isExtended ? '' : 'Compat'
  const group: RouteGroup = {
    tag: 'Responses',
    dialect,
    keyOf: hasKey ? 'responses' : undefined,
    errors: commonErrors(hasKey),
    schemas: {
      InputItem,
      OutputItem,
      Approval,
      HiddenApproval,
      Conversation,
      ...(isExtended ? EXTENDED_SCHEMAS : COMPAT_SCHEMAS),
    },
  }
  const route = makeOperation(group)
  const decision = makeOperation({ ...group, scope: 'approve' })
  const response = json('The response.', ref(`${prefix}Response`))
  const events = ref(`${prefix}ResponseEvent`)
  const responseOrEvents = jsonOrEvents('The response, or its events.', ref(`${prefix}Response`), events)
  return {
    createResponse: route(
      { body: isExtended ? ExtendedCreateRequest : CreateRequest },
      {
        operationId: 'createResponse',
        summary: 'Create a response',
        description: 'With `stream: true` the answer comes as server-sent events; the last one is `[DONE]`.',
        headers: IdempotencyKey,
        body: ref(`${prefix}CreateRequest`),
        answers: { 200: responseOrEvents },
        errors: [404, 409, ...BODY_ERRORS, 504],
      },
    ),
    compactResponse: route(
      { body: CompactRequest },
      {
        operationId: 'compactResponse',
        summary: "Shorten a conversation by a summary of the agent's own model",
        answers: { 200: json('What stands for the conversation from now on.', Compaction) },
        errors: [404, 409, ...BODY_ERRORS, 504],
      },
    ),
    listResponses: route(
      { querystring: PageQuery },
      {
        operationId: 'listResponses',
        summary: 'List responses',
        answers: { 200: json('A page of responses.', pageOf(ref(`${prefix}Response`))) },
      },
    ),
    getResponse: route(
      { params: ById, querystring: GetQuery },
      {
        operationId: 'getResponse',
        summary: 'Retrieve a response',
        description: 'With `stream=true` its events are sent again, and then those that come.',
        answers: { 200: responseOrEvents },
        errors: [404],
      },
    ),
    deleteResponse: route(
      { params: ById },
      {
        operationId: 'deleteResponse',
        summary: 'Delete a response',
        answers: { 200: json('It is deleted.', deleted('response')) },
        errors: [404, ...BODY_ERRORS],
      },
    ),
    cancelResponse: route(
      { params: ById },
      {
        operationId: 'cancelResponse',
        summary: 'Cancel a background response',
        answers: { 200: response },
        errors: [404, ...BODY_ERRORS],
      },
    ),
    listInputItems: route(
      { params: ById, querystring: ItemsQuery },
      {
        operationId: 'listInputItems',
        summary: 'List the input items of a response',
        answers: { 200: json('A page of input items.', pageOf(ref('InputItem'))) },
        errors: [404],
      },
    ),
    createConversation: route(
      { body: CreateConversation },
      {
        operationId: 'createConversation',
        summary: 'Create a conversation',
        isBodyOptional: true,
        answers: { 200: CONVERSATION },
        errors: BODY_ERRORS,
      },
    ),
    getConversation: route(
      { params: ById },
      {
        operationId: 'getConversation',
        summary: 'Retrieve a conversation',
        answers: { 200: CONVERSATION },
        errors: [404],
      },
    ),
    updateConversation: route(
      { params: ById, body: UpdateConversation },
      {
        operationId: 'updateConversation',
        summary: 'Replace the metadata of a conversation',
        answers: { 200: CONVERSATION },
        errors: [404, 409, ...BODY_ERRORS],
      },
    ),
    deleteConversation: route(
      { params: ById },
      {
        operationId: 'deleteConversation',
        summary: 'Delete a conversation; its responses stay',
        answers: { 200: json('It is deleted.', deleted('conversation.deleted')) },
        errors: [404, 409, ...BODY_ERRORS],
      },
    ),
    listConversationItems: route(
      { params: ById, querystring: ConversationItemsQuery },
      {
        operationId: 'listConversationItems',
        summary: 'List the items of a conversation',
        answers: { 200: json('A page of items.', pageOf(ref('InputItem'))) },
        errors: [404],
      },
    ),
    addConversationItems: route(
      { params: ById, body: AddItems },
      {
        operationId: 'addConversationItems',
        summary: 'Add items to a conversation',
        answers: { 200: json('The items, as they are stored.', pageOf(ref('InputItem'))) },
        errors: [404, 409, ...BODY_ERRORS],
      },
    ),
    getConversationItem: route(
      { params: OfItem },
      {
        operationId: 'getConversationItem',
        summary: 'Retrieve an item of a conversation',
        answers: { 200: json('The item.', ref('InputItem')) },
        errors: [404],
      },
    ),
    deleteConversationItem: route(
      { params: OfItem },
      {
        operationId: 'deleteConversationItem',
        summary: 'Take an item out of a conversation',
        answers: { 200: CONVERSATION },
        errors: [404, ...BODY_ERRORS],
      },
    ),
    listApprovals: decision(
      { querystring: ApprovalsQuery },
      {
        operationId: 'listApprovals',
        summary: 'List calls and questions that wait for a person',
        answers: { 200: json('A page of approvals.', pageOf(ShownApproval)) },
      },
    ),
    getApproval: decision(
      { params: ById },
      {
        operationId: 'getApproval',
        summary: 'Retrieve an approval',
        answers: { 200: json('The approval.', ShownApproval) },
        errors: [404],
      },
    ),
    decideApproval: decision(
      { params: ById, body: DecisionRequest },
      {
        operationId: 'decideApproval',
        summary: 'Decide an approval, or answer a question',
        description: 'The waiting run continues in a new response, `continued_by`. Each approval is decided once.',
        answers: { 200: json('The approval, decided.', ref('Approval')) },
        errors: [404, 409, ...BODY_ERRORS],
      },
    ),
    answerByCallback: decision(
      { body: CallbackRequest },
      {
        operationId: 'answerByCallback',
        summary: 'Answer a question with what another site sent back',
        description: 'Sent by the page `/oauth/callback`. The `state` in the query names the question, once.',
        answers: { 200: json('The response that continues.', ContinuedBy) },
        errors: [404, 409, ...BODY_ERRORS],
      },
    ),
  }
}

const COMPAT_SCHEMAS = {
  CompatCreateRequest: CreateRequest,
  CompatResponse: Type.Object({ ...ResponseRecord.properties, output: Type.Array(ref('OutputItem')) }),
  CompatResponseEvent: describeEvents(ref('CompatResponse'), ['completed', 'failed', 'cancelled']),
}

const EXTENDED_SCHEMAS = {
  CreateRequest: ExtendedCreateRequest,
  Response: Type.Object({
    ...COMPAT_SCHEMAS.CompatResponse.properties,
    status: Type.Enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'], { type: 'string' }),
  }),
  ResponseEvent: describeEvents(ref('Response'), ['completed', 'incomplete', 'failed', 'cancelled']),
}

const Conversation = Type.Object({
  id: Type.String(),
  object: Type.Literal('conversation'),
  created_at: Type.Integer(),
  metadata: Type.Record(Type.String(), Type.String()),
})

const CallbackRequest = Type.Object({
  query: Type.String({ maxLength: 16_384, description: 'Query of the address that the site sent the person to.' }),
})
const ContinuedBy = Type.Object({
  continued_by: Type.Union([Type.String(), Type.Null()], { description: 'Null while something else is open.' }),
})

const ById = Type.Object({ id: Type.String() })
const OfItem = Type.Object({ id: Type.String(), itemId: Type.String() })

const IdempotencyKey = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'A repeated request gets the first answer.' }),
  ),
})

const GetQuery = Type.Object({
  stream: Type.Optional(Type.Boolean()),
  starting_after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Number of the last event that the client has.',
    }),
  ),
  include: ItemsQuery.properties.include,
})

const ConversationItemsQuery = Type.Omit(ItemsQuery, ['before'])

const ApprovalsQuery = Type.Object({
  status: Type.Enum(['pending', 'all'], { type: 'string', default: 'pending' }),
  ...PageQuery.properties,
})

const CONVERSATION = json('The conversation.', ref('Conversation'))

/** An approval, hidden from pages of other origins. */
const ShownApproval = Type.Union([ref('Approval'), ref('HiddenApproval')])

function deleted(object: string): TSchema {
  return Type.Object({ id: Type.String(), object: Type.Literal(object), deleted: Type.Literal(true) })
}

function pageOf(item: TSchema): TSchema {
  return Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(item),
    first_id: nullable(Type.String()),
    last_id: nullable(Type.String()),
    has_more: Type.Boolean(),
  })
}
