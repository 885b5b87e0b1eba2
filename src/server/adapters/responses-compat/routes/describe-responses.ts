import { type TSchema, Type } from 'typebox'
import { Approval, HiddenApproval } from '../../../../wire/approval.ts'
import {
  BODY_ERRORS,
  COMMON_ERRORS,
  json,
  jsonOrEvents,
  KEY_ERRORS,
  makeDescribe,
  type RouteDescription,
  ref,
} from '../../../openapi/describe-route.ts'
import { nullable } from '../../../openapi/schemas.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import { describeEvents } from './event-schemas.ts'
import { Compaction, CreateRequest, ExtendedCreateRequest, InputItem, OutputItem, ResponseRecord } from './schema.ts'

/** Describes a route by its operation; the part goes into the route's options. */
export type Describe = (operation: keyof typeof ROUTES) => { readonly config: object }

/** Returns the descriptions of the adapter's routes, by operation. */
export function describeResponses(dialect: Dialect, hasKey: boolean): Describe {
  const { isExtended } = dialect
  const describe = makeDescribe({
    tag: 'Responses',
    dialect,
    keyOf: hasKey ? 'responses' : undefined,
    errors: [...COMMON_ERRORS, ...(hasKey ? KEY_ERRORS : [])],
    schemas: {
      InputItem,
      OutputItem,
      Approval,
      HiddenApproval,
      Conversation,
      ...(isExtended ? EXTENDED_SCHEMAS : COMPAT_SCHEMAS),
    },
  })
  return (operation) => {
    const { answer, body, ...route } = ROUTES[operation] as Route
    const prefix = isExtended ? '' : 'Compat'
    const answers = { 200: answer(prefix) }
    return describe({ operationId: operation, ...route, ...(body && { body: body(prefix) }), answers })
  }
}

/** Prefix of the names of schemas that differ between dialects. */
type SchemaPrefix = '' | 'Compat'

interface Route extends Omit<RouteDescription, 'operationId' | 'answers' | 'body'> {
  readonly body?: (dialect: SchemaPrefix) => TSchema
  readonly answer: (dialect: SchemaPrefix) => ReturnType<typeof json>
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
    status: Type.Unsafe({
      type: 'string',
      enum: ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'],
    }),
  }),
  ResponseEvent: describeEvents(ref('Response'), ['completed', 'incomplete', 'failed', 'cancelled']),
}

const Conversation = Type.Object({
  id: Type.String(),
  object: Type.Literal('conversation'),
  created_at: Type.Integer(),
  metadata: Type.Record(Type.String(), Type.String()),
})

const ById = Type.Object({ id: Type.String() })
const OfItem = Type.Object({ id: Type.String(), itemId: Type.String() })
const PageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  order: Type.Optional(Type.Unsafe<string>({ type: 'string', enum: ['asc', 'desc'], default: 'desc' })),
  after: Type.Optional(Type.String({ description: 'Id of the item that the page begins behind.' })),
}
const Before = { before: Type.Optional(Type.String({ description: 'Id of the item that the page ends ahead of.' })) }
const Include = { include: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])) }

function pageOf(item: TSchema): TSchema {
  return Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(item),
    first_id: nullable(Type.String()),
    last_id: nullable(Type.String()),
    has_more: Type.Boolean(),
  })
}

const response = (dialect: string) => json('The response.', ref(`${dialect}Response`))
const responseOrEvents = (dialect: string) =>
  jsonOrEvents('The response, or its events.', ref(`${dialect}Response`), ref(`${dialect}ResponseEvent`))

const conversation = json('The conversation.', ref('Conversation'))

/** An approval, hidden from pages of other origins. */
const ShownApproval = Type.Union([ref('Approval'), ref('HiddenApproval')])

const ROUTES = {
  createResponse: {
    summary: 'Create a response',
    description: 'With `stream: true` the answer comes as server-sent events; the last one is `[DONE]`.',
    headers: Type.Object({
      'idempotency-key': Type.Optional(
        Type.String({ minLength: 1, maxLength: 255, description: 'A repeated request gets the first answer.' }),
      ),
    }),
    body: (dialect) => ref(`${dialect}CreateRequest`),
    answer: responseOrEvents,
    errors: [404, 409, ...BODY_ERRORS, 504],
  },
  compactResponse: {
    summary: "Shorten a conversation by a summary of the agent's own model",
    answer: () => json('What stands for the conversation from now on.', Compaction),
    errors: [404, 409, ...BODY_ERRORS, 504],
  },
  listResponses: {
    summary: 'List responses',
    querystring: Type.Object(PageQuery),
    answer: (dialect) => json('A page of responses.', pageOf(ref(`${dialect}Response`))),
  },
  getResponse: {
    summary: 'Retrieve a response',
    description: 'With `stream=true` its events are sent again, and then those that come.',
    params: ById,
    querystring: Type.Object({
      stream: Type.Optional(Type.Boolean()),
      starting_after: Type.Optional(
        Type.Integer({ minimum: 0, description: 'Number of the last event that the client has.' }),
      ),
      ...Include,
    }),
    answer: responseOrEvents,
    errors: [404],
  },
  deleteResponse: {
    summary: 'Delete a response',
    params: ById,
    answer: () =>
      json(
        'It is deleted.',
        Type.Object({ id: Type.String(), object: Type.Literal('response'), deleted: Type.Literal(true) }),
      ),
    errors: [404, ...BODY_ERRORS],
  },
  cancelResponse: {
    summary: 'Cancel a background response',
    params: ById,
    answer: response,
    errors: [404, ...BODY_ERRORS],
  },
  listInputItems: {
    summary: 'List the input items of a response',
    params: ById,
    querystring: Type.Object({ ...PageQuery, ...Before, ...Include }),
    answer: () => json('A page of input items.', pageOf(ref('InputItem'))),
    errors: [404],
  },
  createConversation: { summary: 'Create a conversation', answer: () => conversation, errors: BODY_ERRORS },
  getConversation: { summary: 'Retrieve a conversation', params: ById, answer: () => conversation, errors: [404] },
  updateConversation: {
    summary: 'Replace the metadata of a conversation',
    params: ById,
    answer: () => conversation,
    errors: [404, 409, ...BODY_ERRORS],
  },
  deleteConversation: {
    summary: 'Delete a conversation; its responses stay',
    params: ById,
    answer: () =>
      json(
        'It is deleted.',
        Type.Object({ id: Type.String(), object: Type.Literal('conversation.deleted'), deleted: Type.Literal(true) }),
      ),
    errors: [404, 409, ...BODY_ERRORS],
  },
  listConversationItems: {
    summary: 'List the items of a conversation',
    params: ById,
    querystring: Type.Object({ ...PageQuery, ...Include }),
    answer: () => json('A page of items.', pageOf(ref('InputItem'))),
    errors: [404],
  },
  addConversationItems: {
    summary: 'Add items to a conversation',
    params: ById,
    answer: () => json('The items, as they are stored.', pageOf(ref('InputItem'))),
    errors: [404, 409, ...BODY_ERRORS],
  },
  getConversationItem: {
    summary: 'Retrieve an item of a conversation',
    params: OfItem,
    answer: () => json('The item.', ref('InputItem')),
    errors: [404],
  },
  deleteConversationItem: {
    summary: 'Take an item out of a conversation',
    params: OfItem,
    answer: () => conversation,
    errors: [404, ...BODY_ERRORS],
  },
  listApprovals: {
    summary: 'List calls and questions that wait for a person',
    querystring: Type.Object({
      status: Type.Optional(Type.Unsafe<string>({ type: 'string', enum: ['pending', 'all'], default: 'pending' })),
      ...PageQuery,
    }),
    answer: () => json('A page of approvals.', pageOf(ShownApproval)),
  },
  getApproval: {
    summary: 'Retrieve an approval',
    params: ById,
    answer: () => json('The approval.', ShownApproval),
    errors: [404],
  },
  decideApproval: {
    summary: 'Decide an approval, or answer a question',
    description: 'The waiting run continues in a new response, `continued_by`. Each approval is decided once.',
    params: ById,
    answer: () => json('The approval, decided.', ref('Approval')),
    errors: [404, 409, ...BODY_ERRORS],
  },
} satisfies Record<string, Route>
