import type { FastifyReply, FastifyRequest, HTTPMethods, RouteOptions } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { withScope } from '../guards/door.ts'
import type { KeyScope } from '../guards/principal.ts'
import type { Dialect } from '../replies/dialect.ts'

/** Answer of one status. Without any schema it has no body. */
export interface AnswerDescription {
  /** Left out, the standard name of the status. */
  readonly description?: string
  /** Schema of the body as `application/json`. */
  readonly answer?: TSchema
  /** Schema of the data of one event, as JSON, where the answer is `text/event-stream`. */
  readonly events?: TSchema
  /** Schema of the body by other media types. */
  readonly content?: Readonly<Record<string, TSchema>>
}

/** One route: what requests are checked with, their types, and the entry in the OpenAPI document. */
export interface RouteDescription extends AnswerDescription {
  readonly method: HTTPMethods
  readonly path: string
  readonly summary: string
  /** Of the route. */
  readonly description?: string
  /** Checks requests, and gives the types of their parts. */
  readonly schema?: {
    /** `Type.Optional(...)` for a route that also answers a request without a body. */
    readonly body?: TSchema
    readonly querystring?: TSchema
    readonly params?: TSchema
  }
  /** Body that the document shows where the route checks its bodies itself. */
  readonly body?: TSchema
  /** Headers that the document shows. */
  readonly headers?: TSchema
  /** Name that stands in the path instead of `*`. */
  readonly wildcard?: string
  /** Scope that a key needs; `run` by default. */
  readonly scope?: KeyScope
  /** Description of the answer. */
  readonly returns?: string
  /** Status of the answer; 200 by default. */
  readonly status?: number
  /**
   * The answer is written by a function that is compiled from its schema, which leaves out every other field. It saves a tenth of a short
   * request, and costs milliseconds at the start: for what most requests ask for.
   */
  readonly isWrittenBySchema?: boolean
  /** Other answers by status, or range of them (`4XX`). Those of {@link RouteDescription.errors} are added. */
  readonly answers?: Readonly<Record<string, AnswerDescription>>
  /** Statuses of errors that this route has beside those of its group. A route that takes a body has 413 and 415. */
  readonly errors?: readonly number[]
}

/** Facts that the routes of an adapter have in common. */
export interface RouteTag {
  /** Heading of the routes. */
  readonly tag: string
  /** Statuses of errors that each of the routes has. */
  readonly errors?: readonly number[]
  /** Schema of the body of an error; `{ detail }` by default. */
  readonly error?: TSchema
  /** Names of schemas in the document: wherever one of them stands, it is a reference. */
  readonly schemas?: Readonly<Record<string, TSchema>>
}

/** The same, for built-in adapters. */
export interface RouteGroup extends RouteTag {
  readonly dialect?: Dialect
  /** Whose key the routes ask for; undefined when they ask for none. */
  readonly keyOf?: KeyOwner | undefined
  /** Schemas that stand under `/compat` for those of `/v1`. */
  readonly compat?: ReadonlyMap<TSchema, TSchema>
}

export type KeyOwner = 'chat' | 'responses' | 'mcp' | 'ui' | 'file'

/** A description together with its name and group, as it stands in the `config` of a route. */
export interface DescribedRoute {
  readonly openapi: RouteDescription & { readonly operationId: string; readonly group: RouteGroup }
}

/** Returns the options of a route with a handler, for `app.route`. */
export type RouteMaker<R extends RouteDescription> = (
  handler: (request: FastifyRequest<RouteParts<R['schema']>>, reply: FastifyReply) => unknown,
) => RouteOptions

/** Types of the parts of a request that a schema checks. */
export interface RouteParts<S> {
  Body: S extends { readonly body: infer B extends TSchema } ? Static<B> : unknown
  Querystring: S extends { readonly querystring: infer Q extends TSchema } ? Static<Q> : unknown
  Params: S extends { readonly params: infer P extends TSchema } ? Static<P> : unknown
}

/** Makers of the routes of a table, by name: `app.route(routes.getTask(handler))`. Names are unique among the routes of one dialect. */
export type RouteMakers<T extends RouteTable> = { readonly [Name in keyof T]: RouteMaker<T[Name]> }

/** Routes of an adapter, by name. */
export type RouteTable = Readonly<Record<string, RouteDescription>>

export function describeRoutes<const T extends RouteTable>(group: RouteGroup, table: T): RouteMakers<T> {
  const makers = Object.entries(table).map(([operationId, route]) => {
    const { method, path: url, schema = {}, scope = 'run', isWrittenBySchema, answer, status = 200 } = route
    const config = withScope({ openapi: { ...route, operationId, group } } satisfies DescribedRoute, scope)
    const checked = schema.body ? { ...schema, body: inDialect(schema.body, group) } : schema
    const written =
      isWrittenBySchema && answer ? { ...checked, response: { [status]: inDialect(answer, group) } } : checked
    return [operationId, (handler: object) => ({ method, url, schema: written, config, handler })]
  })
  return Object.fromEntries(makers)
}

/** Returns the schema that stands for another one in the dialect of a group. */
export function inDialect<T>(schema: T, { dialect, compat }: RouteGroup): T | TSchema {
  return (dialect?.isExtended === false && compat?.get(schema as TSchema)) || schema
}

/** Returns the statuses of errors that every route of a built-in adapter has. @param hasKey the adapter asks for a key */
export function commonErrors(hasKey: boolean): readonly number[] {
  return hasKey ? [...COMMON_ERRORS, ...KEY_ERRORS] : COMMON_ERRORS
}

/** Errors of every request: one that is wrong, from a host or origin that is not allowed, or that the server fails at. */
const COMMON_ERRORS: readonly number[] = [400, 403, 500, 503]
/** Errors of a wrong key. */
const KEY_ERRORS: readonly number[] = [401, 429]
