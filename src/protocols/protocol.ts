import { HostError, messageOf } from '../errors.ts'
import { list, object, requireGiven, TEXT } from '../given.ts'

declare const shape: unique symbol

/**
 * Contract between modules: a name, and the methods that a provider has. Two protocols are the same when their names
 * are: user code and the library may each have loaded their own copy of a file.
 */
export interface Protocol<T = unknown> {
  readonly name: string
  readonly methods: readonly string[]
  /** Methods that a provider may leave out. */
  readonly optionalMethods?: readonly string[]
  /** Types only; no value carries it. */
  readonly [shape]?: T
}

/** A dependency on every provider of a protocol, as an array (empty if there are none). */
export interface Many<T = unknown> {
  readonly kind: 'many'
  readonly protocol: Protocol<T>
}

/** A dependency that may have no provider; it is then `undefined`. */
export interface Optional<T = unknown> {
  readonly kind: 'optional'
  readonly protocol: Protocol<T>
}

/** Declaration of a dependency: one provider of a protocol, {@link many}, or an {@link optional} one. */
export type Dependency<T = unknown> = Protocol<T> | Many<T> | Optional<T>

/** Value that a module receives for a declared dependency. */
export type Provided<D> =
  D extends Many<infer T>
    ? readonly T[]
    : D extends Optional<infer T>
      ? T | undefined
      : D extends Protocol<infer T>
        ? T
        : never

/** The names of the methods of `T` that every provider has. */
export type MethodName<T> = { [K in keyof T]-?: T[K] extends (...args: never[]) => unknown ? K : never }[keyof T] &
  string

/** The names of the methods of `T` that a provider may leave out. */
export type OptionalName<T> = { [K in keyof T]-?: undefined extends T[K] ? K : never }[keyof T] & string

/**
 * Declares a protocol: `export const Memory = defineProtocol<Memory>('Memory', ['store', 'search'])`.
 *
 * @param name how YAML, errors and events call it; the same name is the same protocol
 * @param methods every method of the interface; only these can be called through a dependency
 * @param optionalMethods those that a provider may leave out: `undefined` for its callers then
 * @throws HostError `PROTOCOL_INVALID` when the name is no identifier, or a method is missing or listed twice
 *
 * @example
 * ```ts
 * export interface Dictionary {
 *   meaningOf(word: string, run: Run): Promise<string | undefined>
 * }
 * export const Dictionary = defineProtocol<Dictionary>('Dictionary', ['meaningOf'])
 * ```
 */
export function defineProtocol<T>(
  name: string,
  methods: readonly MethodName<T>[],
  optionalMethods: readonly OptionalName<T>[] = [],
): Protocol<T> {
  if (typeof name !== 'string' || !/^[A-Za-z_$][\w$]*$/.test(name)) {
    throw new HostError('PROTOCOL_INVALID', `The protocol name '${messageOf(name)}' is not an identifier.`)
  }
  if (!Array.isArray(methods) || methods.length === 0 || new Set(methods).size !== methods.length) {
    throw new HostError('PROTOCOL_INVALID', `The protocol '${name}' must list at least one method, each once.`)
  }
  return Object.freeze({ name, methods: Object.freeze([...methods, ...optionalMethods]), optionalMethods })
}

const PROTOCOL = object({ name: TEXT, methods: list(TEXT) })

/**
 * Depends on every provider of a protocol: `uses: { tools: many(ToolProvider) }`.
 *
 * @example
 * ```ts
 * export const allTools = defineModule({
 *   name: 'AllTools',
 *   provides: [TextMessageHandler],
 *   uses: { tools: many(ToolProvider), response: Response },
 *   create: ({ tools, response }) => ({
 *     async handleText(_text, run) {
 *       const lists = await Promise.all(tools.map((provider) => provider.listTools(run)))
 *       await response.respondText(
 *         lists
 *           .flat()
 *           .map(({ name }) => name)
 *           .join(', '),
 *       )
 *     },
 *   }),
 * })
 * ```
 */
export function many<T>(protocol: Protocol<T>): Many<T> {
  requireGiven(PROTOCOL, protocol, 'protocol')
  return Object.freeze({ kind: 'many', protocol })
}

/**
 * Depends on a provider of a protocol where there is one: `uses: { memory: optional(Memory) }`.
 *
 * @example
 * ```ts
 * export const rememberer = defineModule({
 *   name: 'Rememberer',
 *   provides: [TextMessageHandler],
 *   uses: { memory: optional(Memory), response: Response },
 *   create: ({ memory, response }) => ({
 *     async handleText(text, run) {
 *       const [match] = (await memory?.search(text, 1, run)) ?? []
 *       await response.respondText(match?.text ?? 'I remember nothing of it.')
 *     },
 *   }),
 * })
 * ```
 */
export function optional<T>(protocol: Protocol<T>): Optional<T> {
  requireGiven(PROTOCOL, protocol, 'protocol')
  return Object.freeze({ kind: 'optional', protocol })
}

/** The protocol behind a dependency, and how many providers it takes. */
export function readDependency(dependency: Dependency): { protocol: Protocol; arity: 'one' | 'many' | 'optional' } {
  return 'kind' in dependency
    ? { protocol: dependency.protocol, arity: dependency.kind }
    : { protocol: dependency, arity: 'one' }
}
