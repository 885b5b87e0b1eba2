import { Type } from 'typebox'
import { AnyObject } from '../../../wire/schemas.ts'
import { describeRoutes } from '../../openapi/describe-routes.ts'

const Id = Type.Unsafe({ type: ['string', 'number'] })

const JsonRpcMessage = Type.Object({
  jsonrpc: Type.Literal('2.0'),
  id: Type.Optional(Id),
  method: Type.String(),
  params: Type.Optional(AnyObject),
})

const JsonRpcAnswer = Type.Union([
  Type.Object({ jsonrpc: Type.Literal('2.0'), id: Id, result: AnyObject }),
  Type.Object({
    jsonrpc: Type.Literal('2.0'),
    /** Null when it cannot be known. */
    id: Type.Unsafe({ type: ['string', 'number', 'null'] }),
    error: Type.Object({ code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) }),
  }),
])

const Answers = Type.Union([JsonRpcAnswer, Type.Array(JsonRpcAnswer)])
const NO_MESSAGE = { description: 'What is no message at all.', answer: JsonRpcAnswer }

/**
 * Returns the one route of the adapter. Its body is a description alone: JSON-RPC has each message of a batch checked by itself, and
 * whole numbers beyond 2^53 as ids (`readMessage`).
 */
export function mcpRoutes(hasKey: boolean) {
  const keyOf = hasKey ? 'mcp' : undefined
  return describeRoutes(
    { tag: 'MCP', keyOf, errors: [403, 500, 503], schemas: { JsonRpcMessage, JsonRpcAnswer } },
    ROUTES,
  )
}

const ROUTES = {
  sendMcpMessage: {
    method: 'POST',
    path: '/mcp',
    summary: 'Send a message of the Model Context Protocol',
    description: 'JSON-RPC 2.0. Errors of the protocol, a wrong key included, have the status 200 and an `error`.',
    body: Type.Union([JsonRpcMessage, Type.Array(JsonRpcMessage)]),
    returns: 'The answer, or progress and then the answer.',
    answer: Answers,
    events: Type.Union([JsonRpcAnswer, JsonRpcMessage]),
    answers: {
      202: { description: 'A notification was taken: there is no answer.' },
      413: NO_MESSAGE,
      415: NO_MESSAGE,
      '4XX': NO_MESSAGE,
    },
  },
} as const
