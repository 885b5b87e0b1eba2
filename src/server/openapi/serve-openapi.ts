import swagger, { type FastifyDynamicSwaggerOptions, type SwaggerTransform } from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import type { TSchema } from 'typebox'
import { VERSION } from '../../version.ts'
import { type DescribedRoute, json, type KeyOwner, makeDescribe, type RouteDescription, ref } from './describe-route.ts'
import { AnyObject, CompatError, VendorError } from './schemas.ts'

const PATH = '/openapi.json'
/** Not the usual name: an app around this one may have a document of its own. */
const DECORATOR = 'agentHostOpenapi'

const KEYS: Readonly<Record<KeyOwner, string>> = {
  chat: 'Key of the chat adapter: `--compat-api-key`.',
  responses: 'Key of the responses adapter: `--responses-api-key`.',
  mcp: 'Key of the MCP adapter: `--mcp-api-key`.',
  ui: 'Token of the debug UI: `--ui-token`.',
  file: 'Key of the file of keys: `--keys`.',
}

const ERRORS: Readonly<Record<number, string>> = {
  400: 'The request is invalid; the message names the field and its valid values.',
  401: 'The key is missing or wrong.',
  403: 'The host, or the origin of a page, is not allowed.',
  404: 'There is no such thing.',
  409: 'It is in a state that does not allow this.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  429: 'Too many wrong keys came from this address.',
  500: 'The agent failed.',
  503: 'The server is overloaded, shuts down, or cannot reach its store.',
  504: 'The run took too long.',
}

/** In a reader's order. */
const TAGS = ['Chat', 'Responses', 'MCP', 'Debug UI', 'Server', 'Chat (compat)', 'Responses (compat)']

/**
 * Serves `GET /openapi.json`, which describes the routes that are added after this call; those of users' adapters by their Fastify
 * schemas alone, unless these describe them. The first request creates the document.
 */
export async function serveOpenapi(app: FastifyInstance): Promise<void> {
  const optionalBodies = new Set<string>()
  await app.register(swagger, {
    decorator: DECORATOR,
    // Constants stay what they are, and paths whole.
    convertConstToEnum: false,
    stripBasePath: false,
    openapi: beginDocument(),
    transform: describe,
  })
  app.addHook('onRoute', ({ config }) => {
    const described = (config as Partial<DescribedRoute> | undefined)?.openapi
    if (described?.isBodyOptional) optionalBodies.add(operationIdOf(described))
  })
  const read = makeReader(app, optionalBodies)
  app.get(PATH, ofServer(DOCUMENT), (_request, reply) => reply.type('application/json; charset=utf-8').send(read()))
}

function beginDocument(): NonNullable<FastifyDynamicSwaggerOptions['openapi']> {
  const schemas = { Error: VendorError, CompatError }
  const securitySchemes = Object.fromEntries(
    Object.entries(KEYS).map(([owner, description]) => [
      keyName(owner),
      { type: 'http', scheme: 'bearer', description } as const,
    ]),
  )
  return {
    openapi: '3.1.0',
    info: {
      title: 'agent-host',
      version: VERSION,
      description: 'Agents, served over the protocols that clients speak.',
    },
    servers: [{ url: '/' }],
    tags: TAGS.map((name) => ({ name })),
    components: { schemas, securitySchemes },
  }
}

const describe: SwaggerTransform = ({ schema, url, route, ...rest }) => {
  const described = (route.config as Partial<DescribedRoute> | undefined)?.openapi
  if (described === undefined || !('openapiObject' in rest)) return { schema, url }
  Object.assign(rest.openapiObject.components?.schemas ?? {}, described.group.schemas)
  const { wildcard = '*' } = described
  const params = schema?.params && nameWildcard(schema.params, wildcard)
  return {
    schema: { ...schema, ...(params ? { params } : {}), ...toSchema(described) },
    url: url.replace('*', `:${wildcard}`),
  }
}

/** The schema of the parameters of a path, with a name in the place of `*`. */
function nameWildcard(params: unknown, wildcard: string): unknown {
  return JSON.parse(JSON.stringify(params).replaceAll('"*"', JSON.stringify(wildcard)))
}

const ofServer = makeDescribe({ tag: 'Server', errors: [] })

const DOCUMENT: RouteDescription = {
  operationId: 'getOpenapi',
  summary: 'This document',
  answers: { 200: json('The document.', AnyObject) },
}

/**
 * The document as text, made once.
 *
 * @param optionalBodies operations that need no body; for the generator every body is required
 */
function makeReader(app: FastifyInstance, optionalBodies: ReadonlySet<string>): () => string {
  let text: string | undefined
  return () => {
    text ??= JSON.stringify(app.getDecorator<() => object>(DECORATOR).call(app), (_key, value) =>
      optionalBodies.has(value?.operationId)
        ? { ...value, requestBody: { ...value.requestBody, required: false } }
        : value,
    )
    return text
  }
}

function toSchema({ group, ...route }: DescribedRoute['openapi']): FastifySchema {
  const { answers, errors = [], wildcard: _, isBodyOptional: __, ...rest } = route
  const { dialect, keyOf, tag } = group
  const isCompat = dialect !== undefined && !dialect.isExtended
  const error = group.error ?? ref(dialect?.isExtended ? 'Error' : 'CompatError')
  const refusals = [...new Set([...group.errors, ...errors])].map((status) => [
    status,
    json(ERRORS[status] ?? '', error),
  ])
  return {
    ...rest,
    operationId: operationIdOf({ group, ...route }),
    tags: [isCompat ? `${tag} (compat)` : tag],
    security: keyOf === undefined ? [] : [{ [keyName(keyOf)]: [] }],
    response: toResponses({ ...Object.fromEntries(refusals), ...answers }),
  }
}

/** Returns the name of an operation, unique among those of both dialects. */
function operationIdOf({ operationId, group: { dialect } }: DescribedRoute['openapi']): string {
  if (dialect === undefined || dialect.isExtended) return operationId
  return `compat${operationId[0]?.toUpperCase()}${operationId.slice(1)}`
}

function toResponses(answers: RouteDescription['answers']): Record<string, object> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { description, content }]) => [
      status,
      content === undefined ? { description, type: 'null' } : { description, content: toContent(content) },
    ]),
  )
}

function toContent(content: Readonly<Record<string, TSchema>>): object {
  return Object.fromEntries(Object.entries(content).map(([mediaType, schema]) => [mediaType, { schema }]))
}

function keyName(owner: string): string {
  return `${owner}Key`
}
