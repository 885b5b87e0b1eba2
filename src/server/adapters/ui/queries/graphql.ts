import { readFileSync } from 'node:fs'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { buildSchema, type DocumentNode, GraphQLError, type GraphQLSchema, parse, validate } from 'graphql'
import { createHandler, type ResponseInit } from 'graphql-http'
import { HostError, hasCode } from '../../../../errors.ts'
import { isObject } from '../../../../json.ts'
import { type Viewer, viewerOf } from '../viewer.ts'
import { checkQueryLimits } from './query-limits.ts'
import { mayBeWide, resolveInTurns } from './resolve-in-turns.ts'

/** Maximum characters of the queries that are remembered, parsed and validated: the page sends a dozen, of a few hundred each. */
const MAX_REMEMBERED_CHARS = 64 * 1024

const schemaFile = new URL('../schema.graphql', import.meta.url)

/** The schema, which is the contract of the endpoint. */
export function readSchema(): GraphQLSchema {
  return buildSchema(readFileSync(schemaFile, 'utf8'))
}

/**
 * Answers GraphQL over HTTP (the specification's draft of that name), by POST only, one query at a time.
 *
 * @param root resolvers of the fields of `Query` and `Mutation`: methods of their names
 * @param onError called with failures that are not the caller's fault
 */
export function makeGraphqlRoute(root: object, onError: (error: unknown, request: FastifyRequest) => void) {
  const schema = readSchema()
  const remembered = new Map<string, { document: DocumentNode; errors: readonly GraphQLError[] }>()
  let chars = 0
  const prepare = (query: string) => {
    let prepared = remembered.get(query)
    if (!prepared) {
      checkQueryLimits(query)
      const document = parse(query)
      prepared = { document, errors: validate(schema, document) }
      chars += query.length
      if (chars > MAX_REMEMBERED_CHARS) {
        remembered.clear()
        chars = query.length
      }
      remembered.set(query, prepared)
    }
    return prepared
  }
  const handle = createHandler<FastifyRequest, undefined, Viewer>({
    onSubscribe(_request, { query, variables, operationName }) {
      try {
        const { document, errors } = prepare(query)
        if (errors.length > 0) return errors
        const contextValue = viewerOf(_request.raw)
        return {
          schema,
          document,
          operationName,
          variableValues: variables,
          rootValue: root,
          contextValue,
          ...(mayBeWide(query) && { fieldResolver: resolveInTurns() }),
        }
      } catch (error) {
        return [error instanceof GraphQLError ? error : new GraphQLError(String(error))]
      }
    },
    onOperation(request, _args, result) {
      // The library would look at every value for an error on its way out.
      if (!('errors' in result)) return takesJson(request.raw) ? [JSON.stringify(result), JSON_ANSWER] : undefined
      for (const { originalError } of result.errors ?? []) {
        if (originalError && !isTheirs(originalError)) onError(originalError, request.raw)
      }
    },
    formatError: (error) => (error instanceof GraphQLError ? conceal(error) : error),
  })
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { method, url, headers, body } = request
    const [answer, init] = await handle({
      method,
      url,
      headers,
      body: isObject(body) ? { ...body } : null,
      raw: request,
      context: undefined,
    })
    return reply
      .code(init.status)
      .headers(init.headers ?? {})
      .send(answer ?? '')
  }
}

const JSON_ANSWER: ResponseInit = {
  status: 200,
  statusText: 'OK',
  headers: { 'content-type': 'application/json; charset=utf-8' },
}

/** Tells whether the library would answer plain JSON: the first type that it knows decides. */
function takesJson({ headers: { accept = '*/*' } }: FastifyRequest): boolean {
  const [first = ''] = accept.split(',', 1)
  return first === '*/*' || first === 'application/json'
}

function isTheirs(error: Error): boolean {
  return error instanceof GraphQLError || (error instanceof HostError && error.statusCode < 500)
}

/** Conceals internal errors, which may hold anything: `x-request-id` finds them in the log. */
function conceal(error: GraphQLError): GraphQLError {
  const { originalError, nodes, path } = error
  if (!originalError || isTheirs(originalError)) return error
  const isAway = hasCode(originalError, 'STORE_UNAVAILABLE')
  return new GraphQLError(isAway ? 'The traces cannot be read' : 'Internal Server Error', { nodes, path })
}
