import { Type } from 'typebox'
import {
  BODY_ERRORS,
  COMMON_ERRORS,
  EVENTS_TYPE,
  eventOf,
  JSON_TYPE,
  makeDescribe,
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

const describe = makeDescribe({ tag: 'Debug UI', errors: COMMON_ERRORS })
const content = { [JSON_TYPE]: GraphqlAnswer, 'application/graphql-response+json': GraphqlAnswer }

const ROUTES = {
  queryGraphql: {
    summary: 'Query agents and their runs',
    description: 'GraphQL over HTTP; `schema.graphql` is the contract.',
    body: GraphqlRequest,
    answers: {
      200: { description: 'Data, or errors.', content },
      400: { description: 'What is no query.', content },
    },
    errors: [405, 406, ...BODY_ERRORS],
  },
  followLive: {
    summary: 'Follow runs and agents',
    answers: {
      200: { description: 'Events, until the client leaves.', content: { [EVENTS_TYPE]: eventOf(AnyObject) } },
    },
  },
}

/** Describes a route by its operation. */
export function describeUi(operation: keyof typeof ROUTES): { readonly config: object } {
  return describe({ operationId: operation, ...ROUTES[operation] })
}
