import { STATUS_CODES } from 'node:http'
import swagger, { type FastifyDynamicSwaggerOptions, type SwaggerTransform } from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { type Fields, isObject, mapFields } from '../../json.ts'
import { VERSION } from '../../version.ts'
import { AnyObject } from '../../wire/schemas.ts'
import {
  type AnswerDescription,
  type DescribedRoute,
  describeRoutes,
  inDialect,
  type KeyOwner,
  type RouteGroup,
} from './describe-routes.ts'
import { CompatError, VendorError } from './schemas.ts'

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

/** Errors of a body that is too large, or no JSON. */
const BODY_ERRORS: readonly number[] = [413, 415]
const ERROR_BODIES = { Error: VendorError, CompatError }
const JSON_TYPE = 'application/json'
const EVENTS_TYPE = 'text/event-stream'
/** Mark of an operation, until the document is text. */
const IS_BODY_OPTIONAL = 'x-body-optional'

/** In a reader's order. */
const TAGS = ['Chat', 'Responses', 'MCP', 'Debug UI', 'Server', 'Chat (compat)', 'Responses (compat)']

/**
 * Serves `GET /openapi.json`, which describes the routes that are added after this call; those of users' adapters by their Fastify
 * schemas alone, unless these describe them. The first request creates the document.
 */
export async function serveOpenapi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    decorator: DECORATOR,
    // Constants stay what they are, and paths whole.
    convertConstToEnum: false,
    stripBasePath: false,
    openapi: beginDocument(),
    transform: describe,
  })
  const read = makeReader(app)
  app.route(ROUTES.getOpenapi((_request, reply) => reply.type(`${JSON_TYPE}; charset=utf-8`).send(read())))
}

function beginDocument(): NonNullable<FastifyDynamicSwaggerOptions['openapi']> {
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
    components: { schemas: { ...ERROR_BODIES }, securitySchemes },
  }
}

const describe: SwaggerTransform = ({ schema, url, route, ...rest }) => {
  const described = (route.config as Partial<DescribedRoute> | undefined)?.openapi
  if (described === undefined || !('openapiObject' in rest)) return { schema, url }
  const { wildcard = '*' } = described
  const params = schema?.params && nameWildcard(schema.params, wildcard)
  const shown = { ...schema, ...(params ? { params } : {}), ...toSchema(described) }
  const schemas = rest.openapiObject.components?.schemas ?? {}
  return {
    schema: new References(described.group, schemas).of(shown) as FastifySchema,
    url: url.replace('*', `:${wildcard}`),
  }
}

/** The schema of the parameters of a path, with a name in the place of `*`. */
function nameWildcard(params: unknown, wildcard: string): unknown {
  return JSON.parse(JSON.stringify(params).replaceAll('"*"', JSON.stringify(wildcard)))
}

/** Puts references in the place of the schemas that a group names, and adds these to the document. */
class References {
  readonly #group: RouteGroup
  readonly #names: ReadonlyMap<unknown, string>
  readonly #schemas: Record<string, unknown>

  constructor(group: RouteGroup, schemas: Record<string, unknown>) {
    this.#group = group
    this.#names = new Map(Object.entries({ ...ERROR_BODIES, ...group.schemas }).map(([name, schema]) => [schema, name]))
    this.#schemas = schemas
  }

  of(given: unknown): unknown {
    const value = inDialect(given, this.#group)
    const name = this.#names.get(value)
    if (name === undefined) return this.#within(value)
    this.#schemas[name] ??= this.#within(value)
    return { $ref: `#/components/schemas/${name}` }
  }

  #within(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.of(item))
    if (!isObject(value)) return value
    return mapFields(value as Fields, (inner) => this.of(inner))
  }
}

const ROUTES = describeRoutes(
  { tag: 'Server' },
  {
    getOpenapi: {
      method: 'GET',
      path: '/openapi.json',
      summary: 'This document',
      answer: AnyObject,
    },
  },
)

/** The document as text, made once. For its generator every body is required. */
function makeReader(app: FastifyInstance): () => string {
  let text: string | undefined
  return () => {
    text ??= JSON.stringify(app.getDecorator<() => object>(DECORATOR).call(app), (_key, value) => {
      if (value?.[IS_BODY_OPTIONAL] === undefined) return value
      const { [IS_BODY_OPTIONAL]: _, ...operation } = value
      return { ...operation, requestBody: { ...operation.requestBody, required: false } }
    })
    return text
  }
}

function toSchema({ group, operationId, schema = {}, ...route }: DescribedRoute['openapi']): FastifySchema {
  const { method, summary, description, headers, body = schema.body, errors = [] } = route
  const { dialect, keyOf, tag } = group
  const isCompat = dialect?.isExtended === false
  const answer = group.error ?? ERROR_BODIES[dialect?.isExtended ? 'Error' : 'CompatError']
  const refusals = [...(group.errors ?? []), ...errors, ...(method === 'GET' ? [] : BODY_ERRORS)]
  const answers: Record<string, AnswerDescription> = {
    ...Object.fromEntries(refusals.map((status) => [status, { description: ERRORS[status], answer }])),
    [route.status ?? 200]: { ...route, description: route.returns },
    ...route.answers,
  }
  return {
    ...{ summary, description, headers, body },
    operationId: isCompat ? `compat${operationId[0]?.toUpperCase()}${operationId.slice(1)}` : operationId,
    tags: [isCompat ? `${tag} (compat)` : tag],
    security: keyOf === undefined ? [] : [{ [keyName(keyOf)]: [] }],
    response: mapFields(answers, (given, status) => toResponse(status, given)),
    ...(body && Type.IsOptional(body) ? { [IS_BODY_OPTIONAL]: true } : {}),
  }
}

function toResponse(status: string, { description = STATUS_CODES[status] ?? '', ...shown }: AnswerDescription): object {
  const { answer, events, content } = shown
  const schemas = {
    ...(answer && { [JSON_TYPE]: answer }),
    ...(events && { [EVENTS_TYPE]: eventOf(events) }),
    ...content,
  }
  const byType = Object.entries(schemas).map(([mediaType, schema]) => [mediaType, { schema }])
  return { description, ...(byType.length === 0 ? { type: 'null' } : { content: Object.fromEntries(byType) }) }
}

/** Schema of a server-sent event in the form of OpenAPI 3.2: its data is a text that holds JSON, or the mark of the end. */
function eventOf(data: TSchema): TSchema {
  return Type.Object({
    event: Type.Optional(Type.String()),
    data: Type.Unsafe({
      anyOf: [{ const: '[DONE]' }, { type: 'string', contentMediaType: JSON_TYPE, contentSchema: data }],
    }),
  })
}

function keyName(owner: string): string {
  return `${owner}Key`
}
