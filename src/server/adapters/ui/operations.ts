import { Type } from 'typebox'
import { Rerun, RerunRequest } from '../../../wire/rerun.ts'
import { Variant, VariantRefusal, VariantRequest } from '../../../wire/variant.ts'
import {
  BODY_ERRORS,
  commonErrors,
  EVENTS_TYPE,
  eventOf,
  JSON_TYPE,
  json,
  makeOperation,
} from '../../openapi/describe-route.ts'
import { AnyObject, nullable } from '../../openapi/schemas.ts'

const GraphqlRequest = Type.Object({
  query: Type.String(),
  variables: Type.Optional(nullable(AnyObject)),
  operationName: Type.Optional(nullable(Type.String())),
})

const GraphqlError = Type.Object({
  message: Type.String(),
  locations: Type.Optional(Type.Array(Type.Object({ line: Type.Integer(), column: Type.Integer() }))),
  path: Type.Optional(Type.Array(Type.Unsafe({ type: ['string', 'integer'] }))),
  extensions: Type.Optional(AnyObject),
})

const GraphqlAnswer = Type.Object({
  data: Type.Optional(nullable(AnyObject)),
  errors: Type.Optional(Type.Array(GraphqlError)),
})

const content = { [JSON_TYPE]: GraphqlAnswer, 'application/graphql-response+json': GraphqlAnswer }

/** Routes of the adapter by their operations. */
export type Operations = ReturnType<typeof uiOperations>

/** Returns the routes of the adapter. GraphQL over HTTP checks its requests by itself: their schema is a description alone. */
export function uiOperations(hasKey: boolean) {
  const operation = makeOperation({
    tag: 'Debug UI',
    keyOf: hasKey ? 'ui' : undefined,
    scope: 'debug',
    errors: commonErrors(hasKey),
  })
  return {
    queryGraphql: operation(
      {},
      {
        operationId: 'queryGraphql',
        summary: 'Query agents and their runs',
        description: 'GraphQL over HTTP; `schema.graphql` is the contract.',
        body: GraphqlRequest,
        answers: {
          200: { description: 'Data, or errors.', content },
          400: { description: 'What is no query.', content },
        },
        errors: [405, 406, ...BODY_ERRORS],
      },
    ),
    createVariant: operation(
      { body: VariantRequest },
      {
        operationId: 'createVariant',
        summary: 'Make a variant of an agent',
        description:
          'An agent with some values changed: prompts, model, temperature, and what its modules mark. Requests name it in the header `x-agent-variant`. An hour unused, it is forgotten.',
        answers: {
          201: json('The variant.', Variant),
          400: json('A change is refused, or does not fit.', VariantRefusal),
        },
        errors: [404, 409, ...BODY_ERRORS],
      },
    ),
    downloadTape: operation(
      { params: Type.Object({ run_id: Type.String({ maxLength: 200 }) }) },
      {
        operationId: 'downloadTape',
        summary: 'Download the tape of a run',
        description:
          'Gzip of JSON lines: the whole run, without secrets. For pages of this server, or with a key that has the scope `debug`.',
        answers: {
          200: {
            description: 'The tape.',
            content: { 'application/gzip': Type.Unsafe({ type: 'string', format: 'binary' }) },
          },
        },
        errors: [403, 404],
      },
    ),
    rerunRun: operation(
      { params: Type.Object({ run_id: Type.String({ maxLength: 200 }) }), body: RerunRequest },
      {
        operationId: 'rerunRun',
        summary: 'Run a recorded run again from one of its calls',
        description:
          'What comes before the call is taken from the tape; from there on models are called for real, and tools where `live` names them. Under `agent-host dev`, for the page of this server alone.',
        answers: {
          201: json('The rerun, a run of its own.', Rerun),
          400: json('An edit or a change is refused, or does not fit.', VariantRefusal),
        },
        errors: [404, ...BODY_ERRORS],
      },
    ),
    followLive: operation(
      {},
      {
        operationId: 'followLive',
        summary: 'Follow runs and agents',
        answers: {
          200: { description: 'Events, until the client leaves.', content: { [EVENTS_TYPE]: eventOf(AnyObject) } },
        },
      },
    ),
  }
}
