import { Type } from 'typebox'
import {
  BODY_ERRORS,
  COMMON_ERRORS,
  json,
  jsonOrEvents,
  KEY_ERRORS,
  makeDescribe,
  type RouteDescription,
  type RouteGroup,
  ref,
} from '../../openapi/describe-route.ts'
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

/** Returns the descriptions of the adapter's routes, by operation. */
export function describeChat(dialect: Dialect, hasKey: boolean) {
  const own: RouteGroup['schemas'] = dialect.isExtended
    ? { Model: DescribedModel, ModelList: DescribedModelList, ChatRequest: ExtendedChatRequest }
    : { CompatModel: ModelEntry, CompatModelList: ModelList, CompatChatRequest: ChatRequest }
  const describe = makeDescribe({
    tag: 'Chat',
    dialect,
    keyOf: hasKey ? 'chat' : undefined,
    errors: [...COMMON_ERRORS, ...(hasKey ? KEY_ERRORS : [])],
    schemas: { ...own, ChatCompletion, ChatCompletionChunk },
  })
  const routes = describeRoutes(dialect)
  return (operation: keyof typeof routes) => describe({ operationId: operation, ...routes[operation] })
}

function describeRoutes({ isExtended }: Dialect) {
  return {
    createChatCompletion: {
      summary: 'Create a chat completion',
      description:
        'With `stream: true` the answer comes as server-sent events, one chunk each; the last event is `[DONE]`.',
      body: ref(isExtended ? 'ChatRequest' : 'CompatChatRequest'),
      answers: {
        200: jsonOrEvents(
          'The completion, or its chunks.',
          ref('ChatCompletion'),
          Type.Union([ref('ChatCompletionChunk'), StreamError]),
        ),
      },
      errors: [404, ...BODY_ERRORS, 504],
    },
    listModels: {
      summary: 'List the agents',
      answers: { 200: json('The agents, as models.', ref(isExtended ? 'ModelList' : 'CompatModelList')) },
    },
    getModel: {
      summary: 'Retrieve an agent',
      wildcard: 'model',
      params: Type.Object({ model: Type.String({ description: 'An agent, or `<agent>/<entry point>`.' }) }),
      answers: { 200: json('The agent, as a model.', ref(isExtended ? 'Model' : 'CompatModel')) },
      errors: [404],
    },
  } satisfies Record<string, Omit<RouteDescription, 'operationId'>>
}
