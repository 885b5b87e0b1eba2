import { Type } from 'typebox'
import {
  BODY_ERRORS,
  commonErrors,
  json,
  jsonOrEvents,
  makeOperation,
  type RouteGroup,
  ref,
} from '../../openapi/describe-route.ts'
import { CompatError } from '../../openapi/schemas.ts'
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

/** Routes of the adapter by their operations: the schemas that check requests, write answers and give their types, and their description. */
export type Operations = ReturnType<typeof chatOperations>

/** Returns the routes of a dialect. */
export function chatOperations(dialect: Dialect, hasKey: boolean) {
  const { isExtended } = dialect
  const schemas: RouteGroup['schemas'] = isExtended
    ? { Model: DescribedModel, ModelList: DescribedModelList, ChatRequest: ExtendedChatRequest }
    : { CompatModel: ModelEntry, CompatModelList: ModelList, CompatChatRequest: ChatRequest }
  const prefix = isExtended ? '' : 'Compat'
  const operation = makeOperation({
    tag: 'Chat',
    dialect,
    keyOf: hasKey ? 'chat' : undefined,
    errors: commonErrors(hasKey),
    schemas: { ...schemas, ChatCompletion, ChatCompletionChunk },
  })
  const chunk = Type.Union([ref('ChatCompletionChunk'), StreamError])
  return {
    createChatCompletion: operation(
      { body: isExtended ? ExtendedChatRequest : ChatRequest, response: { 200: ChatCompletion } },
      {
        operationId: 'createChatCompletion',
        summary: 'Create a chat completion',
        description:
          'With `stream: true` the answer comes as server-sent events, one chunk each; the last event is `[DONE]`.',
        body: ref(`${prefix}ChatRequest`),
        answers: { 200: jsonOrEvents('The completion, or its chunks.', ref('ChatCompletion'), chunk) },
        errors: [404, ...BODY_ERRORS, 504],
      },
    ),
    listModels: operation(
      { response: { 200: isExtended ? DescribedModelList : ModelList } },
      {
        operationId: 'listModels',
        summary: 'List the agents',
        answers: { 200: json('The agents, as models.', ref(`${prefix}ModelList`)) },
      },
    ),
    getModel: operation(
      { params: ByName, response: isExtended ? { 200: DescribedModel } : { 200: ModelEntry, 404: CompatError } },
      {
        operationId: 'getModel',
        summary: 'Retrieve an agent',
        wildcard: 'model',
        answers: { 200: json('The agent, as a model.', ref(`${prefix}Model`)) },
        errors: [404],
      },
    ),
  }
}

const ByName = Type.Object({ '*': Type.String({ description: 'An agent, or `<agent>/<entry point>`.' }) })
