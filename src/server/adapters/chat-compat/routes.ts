import { Type } from 'typebox'
import { commonErrors, describeRoutes } from '../../openapi/describe-routes.ts'
import type { Dialect } from '../../replies/dialect.ts'
import {
  ChatCompletion,
  ChatCompletionChunk,
  ChatRequest,
  DescribedModel,
  DescribedModelList,
  ExtendedChatRequest,
  ModelEntry,
  ModelList,
  StreamError,
} from './schema.ts'

/** Returns the routes of a dialect. */
export function chatRoutes(dialect: Dialect, hasKey: boolean) {
  const keyOf = hasKey ? 'chat' : undefined
  return describeRoutes(
    { tag: 'Chat', dialect, keyOf, errors: commonErrors(hasKey), schemas: SCHEMAS, compat: COMPAT },
    ROUTES,
  )
}

const ROUTES = {
  createChatCompletion: {
    method: 'POST',
    path: '/chat/completions',
    summary: 'Create a chat completion',
    description:
      'With `stream: true` the answer comes as server-sent events, one chunk each; the last event is `[DONE]`.',
    schema: { body: ExtendedChatRequest },
    returns: 'The completion, or its chunks.',
    answer: ChatCompletion,
    isWrittenBySchema: true,
    events: Type.Union([ChatCompletionChunk, StreamError]),
    errors: [404, 504],
  },
  listModels: {
    method: 'GET',
    path: '/models',
    summary: 'List the agents',
    answer: DescribedModelList,
  },
  getModel: {
    method: 'GET',
    path: '/models/*',
    summary: 'Retrieve an agent',
    wildcard: 'model',
    schema: { params: Type.Object({ '*': Type.String({ description: 'An agent, or `<agent>/<entry point>`.' }) }) },
    answer: DescribedModel,
    errors: [404],
  },
} as const

const COMPAT = new Map<object, object>([
  [ExtendedChatRequest, ChatRequest],
  [DescribedModelList, ModelList],
  [DescribedModel, ModelEntry],
])

const SCHEMAS = {
  Model: DescribedModel,
  ModelList: DescribedModelList,
  ChatRequest: ExtendedChatRequest,
  CompatModel: ModelEntry,
  CompatModelList: ModelList,
  CompatChatRequest: ChatRequest,
  ChatCompletion,
  ChatCompletionChunk,
}
