import { Type } from 'agent-host'
import { Answer, CountRequest, MessageRequest, Model, ModelPage, StreamEvent, TokenCount, WireError } from './schema.ts'

/** Facts that the routes have in common. */
export const GROUP = {
  tag: 'Messages',
  errors: [400, 401, 403, 404, 429, 500, 503],
  error: WireError,
  schemas: {
    Message: Answer,
    MessageRequest,
    MessageModel: Model,
    MessageModelList: ModelPage,
    MessageError: WireError,
  },
}

export const ROUTES = {
  createMessage: {
    method: 'POST',
    path: '/v1/messages',
    summary: 'Create a message',
    description: 'With `stream: true` the answer comes as server-sent events, from `message_start` to `message_stop`.',
    schema: { body: MessageRequest },
    answer: Answer,
    events: StreamEvent,
  },
  countMessageTokens: {
    method: 'POST',
    path: '/v1/messages/count_tokens',
    summary: 'Count the tokens of a message',
    description: 'The vendor of the agent counts them; otherwise it is an estimate, with the header `x-estimated`.',
    schema: { body: CountRequest },
    answer: TokenCount,
  },
  listMessageModels: { method: 'GET', path: '/v1/models', summary: 'List the agents', answer: ModelPage },
  getMessageModel: {
    method: 'GET',
    path: '/v1/models/*',
    summary: 'Retrieve an agent',
    wildcard: 'model',
    schema: {
      params: Type.Object({ '*': Type.String({ description: 'An agent, `<agent>/<entry point>` or an alias.' }) }),
    },
    answer: Model,
  },
} as const
