import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import { Type } from 'typebox'
import { QuestionNews, QuestionRequest } from '../../../wire/question.ts'
import { Rerun, RerunRequest } from '../../../wire/rerun.ts'
import { AnyObject, Integer, nullable, Text } from '../../../wire/schemas.ts'
import { Variant, VariantRefusal, VariantRequest } from '../../../wire/variant.ts'
import { commonErrors, describeRoutes } from '../../openapi/describe-routes.ts'

const GraphqlRequest = Type.Object({
  query: Text,
  variables: Type.Optional(nullable(AnyObject)),
  operationName: Type.Optional(nullable(Text)),
})

const GraphqlError = Type.Object({
  message: Text,
  locations: Type.Optional(Type.Array(Type.Object({ line: Integer, column: Integer }))),
  path: Type.Optional(Type.Array(Type.Unsafe({ type: ['string', 'integer'] }))),
  extensions: Type.Optional(AnyObject),
})

const GraphqlAnswer = Type.Object({
  data: Type.Optional(nullable(AnyObject)),
  errors: Type.Optional(Type.Array(GraphqlError)),
})

const content = { 'application/json': GraphqlAnswer, 'application/graphql-response+json': GraphqlAnswer }

/** Routes of the adapter by their names. */
export type UiRoutes = ReturnType<typeof uiRoutes>

/** Returns the routes of the adapter. GraphQL over HTTP checks its requests by itself: their schema is a description alone. */
export function uiRoutes(hasKey: boolean) {
  return describeRoutes({ tag: 'Debug UI', keyOf: hasKey ? 'ui' : undefined, errors: commonErrors(hasKey) }, ROUTES)
}

/** Returns the hook of a route that does not exist for other requests than these. */
export function existsFor(isMeant: (request: FastifyRequest) => boolean): onRequestHookHandler {
  return (request, reply, done) => {
    if (isMeant(request)) done()
    else reply.code(404).send({ detail: 'Not Found' })
  }
}

const ByRun = Type.Object({ run_id: Type.String({ maxLength: 200 }) })

const ROUTES = {
  queryGraphql: {
    method: 'POST',
    path: '/api/ui/graphql',
    scope: 'debug',
    summary: 'Query agents and their runs',
    description: 'GraphQL over HTTP; `schema.graphql` is the contract.',
    body: GraphqlRequest,
    content,
    answers: { 400: { description: 'What is no query.', content } },
    errors: [405, 406],
  },
  createVariant: {
    method: 'POST',
    path: '/api/ui/variants',
    scope: 'debug',
    summary: 'Make a variant of an agent',
    description:
      'An agent with some values changed: prompts, model, temperature, and what its modules mark. Requests name it in the header `x-agent-variant`. An hour unused, it is forgotten.',
    schema: { body: VariantRequest },
    status: 201,
    answer: Variant,
    answers: { 400: { description: 'A change is refused, or does not fit.', answer: VariantRefusal } },
    errors: [404, 409],
  },
  downloadTape: {
    method: 'GET',
    path: '/api/ui/runs/:run_id/tape',
    scope: 'debug',
    summary: 'Download the tape of a run',
    description:
      'Gzip of JSON lines: the whole run, without secrets. For pages of this server, or with a key that has the scope `debug`.',
    schema: { params: ByRun },
    content: { 'application/gzip': Type.Unsafe({ type: 'string', format: 'binary' }) },
    errors: [404],
  },
  rerunRun: {
    method: 'POST',
    path: '/api/ui/runs/:run_id/rerun',
    scope: 'debug',
    summary: 'Run a recorded run again from one of its calls',
    description:
      'What comes before the call is taken from the tape; from there on models are called for real, and tools where `live` names them. Under `agent-host dev`, for the page of this server alone.',
    schema: { params: ByRun, body: RerunRequest },
    status: 201,
    answer: Rerun,
    answers: { 400: { description: 'An edit or a change is refused, or does not fit.', answer: VariantRefusal } },
    errors: [404],
  },
  askAtTerminal: {
    method: 'POST',
    path: '/api/ui/questions',
    scope: 'debug',
    summary: 'Ask at the terminal of agent-host dev to write a file or run the evals',
    description:
      'Only puts the question: a key typed in the terminal answers it. Its news come as `questions` on `/api/ui/live`. For the page of this server alone, opened on this machine.',
    schema: { body: QuestionRequest },
    status: 202,
    answer: QuestionNews,
    answers: { 400: { description: 'It cannot be written.', answer: VariantRefusal } },
    errors: [404],
  },
  followLive: {
    method: 'GET',
    path: '/api/ui/live',
    scope: 'debug',
    summary: 'Follow runs and agents',
    events: AnyObject,
  },
} as const
