import { type Static, type TObject, Type } from 'typebox'
import type { Scope } from '../definition/scope.ts'
import { HostError } from '../errors.ts'
import { fieldsOf } from '../json.ts'
import type { CallableAgent } from '../protocols/callable-agent.ts'
import type { Log } from '../protocols/log.ts'
import type { Dependency, Protocol, Provided } from '../protocols/protocol.ts'
import type { Run } from '../protocols/run.ts'

/** Dependencies of a module, by the name of the field in which `create` gets each. */
export type Uses = Readonly<Record<string, Dependency>>

/** Argument of `create`: for each field of `uses`, the provider or providers that the exchange found. */
export type Dependencies<U extends Uses> = { readonly [Field in keyof U]: Provided<U[Field]> }

/** Result of `create`: an object with the methods of every protocol of `provides`. */
export type Instance<P extends readonly Protocol[]> = Intersection<Provided<P[number]>> & MaybeDisposable

/** Object that may have to be disposed when its scope ends. */
export interface MaybeDisposable {
  dispose?(): void | Promise<void>
  [Symbol.asyncDispose]?(): PromiseLike<void>
}

/** Type that is all types of a union at once: the protocols that one object provides. */
export type Intersection<T> = (T extends unknown ? (each: T) => void : never) extends (all: infer All) => void
  ? All
  : never

/**
 * Surroundings of a module. The same for every instance that one version of an agent creates.
 *
 * @example
 * ```ts
 * export function readKey({ environment, log, moduleId }: ModuleContext): string | undefined {
 *   const key = environment.SHOP_KEY
 *   if (key === undefined) log.warn(`SHOP_KEY is not set, which ${moduleId} needs`)
 *   return key
 * }
 * ```
 */
export interface ModuleContext {
  readonly agentId: string
  readonly moduleId: string
  /** Absolute path of the project folder. */
  readonly projectDir: string
  /** True if servers on several machines share the store of the project: all of them then have the same `Storage`. */
  readonly hasSharedStore: boolean
  /** The environment variables, with those of the project's `.env`. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly log: Log
  /** Address to which another site sends a person back, for a {@link Question} with a `url`. */
  readonly callbackUrl: string
  /**
   * Encrypts a text that this module keeps or gives away, such as a token. Only this module of this agent can open it, and only for the tenant
   * of the run; without a run, for no tenant.
   *
   * @throws HostError `STORE_UNAVAILABLE`
   */
  seal(text: string, run?: Run): Promise<string>
  /**
   * Opens a text that {@link ModuleContext.seal} encrypted.
   *
   * @returns undefined for any other text, and for one that another module, agent, tenant or key sealed
   * @throws HostError `STORE_UNAVAILABLE`
   */
  unseal(sealed: string, run?: Run): Promise<string | undefined>
  /**
   * Says that this module calls agents by `run.callAgent`: those of these names, in which `*` stands for any characters. Call it in `create` of
   * an agent-scoped module: the host then refuses agents that call each other in a circle.
   *
   * @returns a function that lists those in service, at every entry point, without this agent itself: the same array until agents change
   */
  callsAgents(names: readonly string[]): () => readonly CallableAgent[]
  /**
   * Reports what this module waits for outside, such as a server that is away: `/readyz` names it, after the agent and the module. Since everyone may
   * read that, it should not hold an address.
   *
   * @param what undefined once it is there, and when the module is closed
   */
  reportMissing(what: string | undefined): void
  /** Returns the ids of the modules of this agent that provide a protocol, in the order of the file. */
  providersOf(protocol: Protocol): readonly string[]
  /** Returns the ids of the modules that this module got for a field of its `uses`, in the same order. */
  providersFor(field: string): readonly string[]
  /**
   * Loads a TypeScript or JavaScript file of the project, its path relative to the project folder. The agent is loaded
   * again when the file, or a file it imports, changes.
   *
   * @throws HostError `MODULE_INVALID` that points at the file and line, or for a file outside the project folder
   */
  importFile(path: string): Promise<Record<string, unknown>>
  /**
   * Has the agent loaded again when this file of the project changes, appears or goes; for a folder, when anything in it does.
   *
   * @throws HostError `MODULE_INVALID` for a file outside the project folder
   */
  watchFile(path: string): void
}

/** A part of an agent, as {@link defineModule} gives it. */
export interface Module<
  P extends readonly Protocol[] = readonly Protocol[],
  U extends Uses = Uses,
  C extends TObject = TObject,
> {
  /** `module_class` in events. */
  readonly name: string
  /** One line, shown by `eject list` and the debug UI. */
  readonly description: string
  readonly provides: P
  readonly uses: U
  /** JSON Schema of the `config` in YAML; defaults are filled in before `create` sees it. */
  readonly config: C
  /** The scope of this module where the YAML names none. */
  readonly scope: Scope
  /**
   * Media types of attachments that this module takes in the messages of a conversation, such as `image/*` or `application/pdf`.
   * `model`: those that its models take. An agent whose entry module takes none refuses messages with attachments.
   */
  readonly attachments: readonly string[] | 'model'
  /** True for a model that accepts a reasoning effort (`requestOptions.reasoningEffort`), and may show its reasoning. */
  readonly reasons: boolean
  /**
   * True for a module that reaches out of the agent, to a service or a device: tapes record its calls, and a replay answers them
   * without it. Models, tools, memories, embedders, vector indexes and approval policies are boundaries without saying so.
   */
  readonly boundary: boolean
  /** Makes an instance. What it throws fails the run, or, for an agent-scoped module, the registration. */
  create(dependencies: Dependencies<U>, config: Static<C>, context: ModuleContext): Instance<P> | Promise<Instance<P>>
}

/** Argument of {@link defineModule}; what is left out has a default. */
export interface ModuleOptions<P extends readonly Protocol[], U extends Uses, C extends TObject>
  extends Omit<Module<P, U, C>, 'description' | 'uses' | 'config' | 'scope' | 'attachments' | 'reasons' | 'boundary'> {
  readonly description?: string
  readonly uses?: U
  readonly config?: C
  readonly scope?: Scope
  readonly attachments?: readonly string[] | 'model'
  readonly reasons?: boolean
  readonly boundary?: boolean
}

/** Version of the interface that modules are written for; it grows when a module of an earlier one would no longer work. */
export const API_VERSION = 1

/** Its value is the version that a module was written for. */
const moduleMark = Symbol.for('agent-host.module')

/**
 * Defines a module. Types of the dependencies, the config and the returned methods are inferred;
 * nothing is annotated twice.
 *
 * @throws HostError `MODULE_INVALID` when a fact is missing or of the wrong kind
 *
 * @example
 * ```ts
 * export const greeter = defineModule({
 *   name: 'Greeter',
 *   description: 'Repeats the message, after a greeting.',
 *   provides: [TextMessageHandler],
 *   uses: { response: Response },
 *   config: Type.Object({ greeting: Type.String({ default: 'Hello: ', description: 'Start of every answer.' }) }),
 *   create: ({ response }, { greeting }) => ({
 *     handleText: (text) => response.respondText(greeting + text),
 *   }),
 * })
 * ```
 */
export function defineModule<
  const P extends readonly Protocol[],
  U extends Uses = Record<never, never>,
  C extends TObject = TObject<Record<never, never>>,
>(facts: ModuleOptions<P, U, C>): Module<P, U, C> {
  const problem = findProblem(fieldsOf(facts))
  if (problem) throw new HostError('MODULE_INVALID', `defineModule: ${problem}`)
  return Object.freeze({
    description: '',
    uses: {} as U,
    config: Type.Object({}) as C,
    scope: 'instance' as const,
    attachments: [],
    reasons: false,
    boundary: false,
    ...facts,
    [moduleMark]: API_VERSION,
  })
}

/** Returns true for a value that {@link defineModule} returned. */
export function isModule(value: unknown): value is Module {
  return typeof value === 'object' && value !== null && moduleMark in value
}

/** Version of the module interface that a module was written for. */
export function apiOf(module: Module): number {
  return Number(Reflect.get(module, moduleMark))
}

function findProblem(facts: Partial<ModuleOptions<readonly Protocol[], Uses, TObject>>): string | undefined {
  if (typeof facts.name !== 'string' || facts.name === '') return "'name' must be a non-empty string."
  const subject = `module '${facts.name}':`
  if (typeof facts.create !== 'function') return `${subject} 'create' must be a function.`
  if (!Array.isArray(facts.provides) || !facts.provides.every(isProtocol)) {
    return `${subject} 'provides' must be an array of protocols.`
  }
  if (facts.scope !== undefined && facts.scope !== 'instance' && facts.scope !== 'agent') {
    return `${subject} 'scope' must be 'instance' or 'agent'.`
  }
  if (facts.config !== undefined && fieldsOf(facts.config).type !== 'object') {
    return `${subject} 'config' must be a schema made with Type.Object.`
  }
  const handler = facts.provides.find(({ name }) => name.endsWith('MessageHandler'))
  if (facts.boundary && handler) {
    return `${subject} 'boundary' is for modules that others call; this one provides ${handler.name}.`
  }
  for (const [field, dependency] of Object.entries(facts.uses ?? {})) {
    if (!isProtocol(dependency) && !isProtocol(fieldsOf(dependency).protocol)) {
      return `${subject} uses.${field} must be a protocol, many(protocol) or optional(protocol).`
    }
  }
  return undefined
}

function isProtocol(value: unknown): value is Protocol {
  const { name, methods } = fieldsOf(value)
  return typeof name === 'string' && Array.isArray(methods)
}
