import type { FastifySchema } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { withScope } from '../guards/door.ts'
import type { KeyScope } from '../guards/principal.ts'
import type { Dialect } from '../replies/dialect.ts'

/** Answer of one status. Without any media type it has no body. */
export interface AnswerDescription {
  readonly description: string
  /** Schema of the body by media type. Of `text/event-stream` it is that of one event, {@link eventOf}. */
  readonly content?: Readonly<Record<string, TSchema>>
}

/** Description of a route in the OpenAPI document: it takes no part in checking requests or writing answers. */
export interface RouteDescription {
  /** Unique among the routes of one dialect. */
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  /** Name that stands in the path instead of `*`. */
  readonly wildcard?: string
  readonly headers?: TSchema
  /** Left out, the schema that the route checks bodies with. */
  readonly body?: TSchema
  /** True for a route that also answers a request without a body. */
  readonly isBodyOptional?: boolean
  /** By status, or range of them (`4XX`). Those of {@link RouteDescription.errors} are added. */
  readonly answers: Readonly<Record<string, AnswerDescription>>
  /** Statuses of errors that this route has beside those of its group. */
  readonly errors?: readonly number[]
}

/** Facts that the routes of an adapter have in common. */
export interface RouteGroup {
  readonly tag: string
  readonly dialect?: Dialect
  /** Whose key the routes ask for; undefined when they ask for none. */
  readonly keyOf?: KeyOwner | undefined
  /** Scope that a key needs for them; default: run. */
  readonly scope?: KeyScope
  /** Statuses of errors that each of the routes has. */
  readonly errors: readonly number[]
  /** Schema of the body of an error where no dialect says it. */
  readonly error?: TSchema
  /** Schemas that {@link ref} names. */
  readonly schemas?: Readonly<Record<string, TSchema>>
}

export type KeyOwner = 'chat' | 'responses' | 'mcp' | 'ui' | 'file'

/** A description together with its group, as it stands in the `config` of a route. */
export interface DescribedRoute {
  readonly openapi: RouteDescription & { readonly group: RouteGroup }
}

/** Returns a function that makes the part of a route's options that describes it. */
export function makeDescribe(group: RouteGroup): (route: RouteDescription) => { readonly config: object } {
  return (route) => ({ config: { openapi: { ...route, group } } satisfies DescribedRoute })
}

/** Returns a function that makes the options of a route: its schemas, which check requests and give their types, and its description. */
export function makeOperation(
  group: RouteGroup,
): <S extends FastifySchema>(schema: S, route: RouteDescription) => { readonly config: object; readonly schema: S } {
  const describe = makeDescribe(group)
  const { scope = 'run' } = group
  return (schema, route) => ({ config: withScope(describe(route).config, scope), schema })
}

/** Returns the statuses of errors that every route of an adapter has. @param hasKey the adapter asks for a key */
export function commonErrors(hasKey: boolean): readonly number[] {
  return hasKey ? [...COMMON_ERRORS, ...KEY_ERRORS] : COMMON_ERRORS
}

/** Reference to a schema of a {@link RouteGroup} by its name. */
export function ref(name: string): TSchema {
  return Type.Unsafe({ $ref: `#/components/schemas/${name}` })
}

export function json(description: string, schema: TSchema): AnswerDescription {
  return { description, content: { [JSON_TYPE]: schema } }
}

/** @param data schema of the data of one event */
export function jsonOrEvents(description: string, schema: TSchema, data: TSchema): AnswerDescription {
  return { description, content: { [JSON_TYPE]: schema, [EVENTS_TYPE]: eventOf(data) } }
}

/** Schema of a server-sent event in the form of OpenAPI 3.2: its data is a text that holds JSON, or the mark of the end. */
export function eventOf(data: TSchema): TSchema {
  return Type.Object({
    event: Type.Optional(Type.String()),
    data: Type.Unsafe({
      anyOf: [{ const: '[DONE]' }, { type: 'string', contentMediaType: JSON_TYPE, contentSchema: data }],
    }),
  })
}

export const JSON_TYPE = 'application/json'
export const EVENTS_TYPE = 'text/event-stream'
/** Errors of every request: one that is wrong, from a host or origin that is not allowed, or that the server fails at. */
const COMMON_ERRORS: readonly number[] = [400, 403, 500, 503]
/** Errors of a wrong key. */
const KEY_ERRORS: readonly number[] = [401, 429]
/** Errors of a body that is too large, or no JSON. */
export const BODY_ERRORS: readonly number[] = [413, 415]
