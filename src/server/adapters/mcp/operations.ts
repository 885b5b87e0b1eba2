import { Type } from 'typebox'
import { json, jsonOrEvents, makeOperation, ref } from '../../openapi/describe-route.ts'
import { AnyObject } from '../../openapi/schemas.ts'

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

/**
 * Returns the one route of the adapter. Its schemas are a description alone: JSON-RPC has each message of a batch checked by itself, and
 * whole numbers beyond 2^53 as ids (`readMessage`).
 */
export function mcpOperations(hasKey: boolean) {
  const operation = makeOperation({
    tag: 'MCP',
    keyOf: hasKey ? 'mcp' : undefined,
    errors: [403, 500, 503],
    schemas: { JsonRpcMessage, JsonRpcAnswer },
  })
  return {
    sendMcpMessage: operation(
      {},
      {
        operationId: 'sendMcpMessage',
        summary: 'Send a message of the Model Context Protocol',
        description: 'JSON-RPC 2.0. Errors of the protocol, a wrong key included, have the status 200 and an `error`.',
        body: Type.Union([ref('JsonRpcMessage'), Type.Array(ref('JsonRpcMessage'))]),
        answers: {
          200: jsonOrEvents(
            'The answer, or progress and then the answer.',
            Type.Union([ref('JsonRpcAnswer'), Type.Array(ref('JsonRpcAnswer'))]),
            Type.Union([ref('JsonRpcAnswer'), ref('JsonRpcMessage')]),
          ),
          202: { description: 'A notification was taken: there is no answer.' },
          '4XX': json('What is no message at all.', ref('JsonRpcAnswer')),
        },
      },
    ),
  }
}
