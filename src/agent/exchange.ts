import { HostError, messageOf } from '../errors.ts'
import type { Protocol } from '../protocols/protocol.ts'
import type { MaybeDisposable, Module, ModuleContext } from './define-module.ts'
import { type Callee, type Caller, makeFacade, type Recorder } from './facade.ts'
import { type EntryPoint, type Link, type PlannedModule, RUN_PROVIDERS } from './plan-wiring.ts'
import type { RunConversation, RunResponse } from './run-providers.ts'

/** A planned module with all that an instance of it is made from. Frozen. */
export interface WiredModule extends PlannedModule {
  readonly reference: string
  readonly module: Module
  readonly config: Readonly<Record<string, unknown>>
  readonly context: ModuleContext
}

/** What an exchange is opened with beside the plan. */
export interface ExchangeOptions {
  /** The exchange of the agent-scoped modules; absent while that one is itself opened. */
  readonly shared?: Exchange
  /** What the run provides; absent for the agent-scoped modules. */
  readonly response?: RunResponse
  readonly conversation?: RunConversation
  /** Instances to take instead of a module's own, by module id. They are neither made nor disposed here. */
  readonly overrides?: Readonly<Record<string, object>> | undefined
  /** Records every call between modules; absent where nobody listens, and then nothing is wrapped. */
  readonly recorder?: Recorder | undefined
}

/** An instance in an exchange, as those that depend on it see it. */
interface Provider {
  readonly instance: object
  readonly callee: Callee
  /** The observed calls that it is within. */
  readonly openCalls: string[]
}

/** Instances of modules, made and handed to each other as a plan says. */
export class Exchange {
  readonly #options: ExchangeOptions
  readonly #providers = new Map<string, Provider>()
  #disposables: { readonly id: string; readonly instance: MaybeDisposable }[] | undefined

  constructor(options: ExchangeOptions) {
    this.#options = options
    const { response, conversation, overrides } = options
    if (response) this.#provideFromOutside(RUN_PROVIDERS.Response, 'Response', response)
    if (conversation) this.#provideFromOutside(RUN_PROVIDERS.ConversationHistory, 'ConversationHistory', conversation)
    for (const id in overrides) this.#provideFromOutside(id, 'Override', overrides[id] as object)
  }

  /** Makes the instances of these modules, each after those that it depends on. */
  async open(modules: readonly WiredModule[]): Promise<void> {
    for (const wired of modules) {
      if (this.#providers.has(wired.id)) continue
      const openCalls: string[] = []
      const dependencies = this.#dependenciesOf(wired, openCalls)
      const made: unknown = wired.module.create(dependencies, wired.config, wired.context)
      // Most modules are made at once: waiting for them would cost every run a turn of the queue.
      const instance: unknown = isPromise(made) ? await made : made
      checkInstance(wired, instance)
      this.#providers.set(wired.id, { instance, callee: calleeOf(wired), openCalls })
      if (isDisposable(instance)) {
        this.#disposables ??= []
        this.#disposables.push({ id: wired.id, instance })
      }
    }
  }

  /** The module that handles a protocol at an entry point, as the agent itself calls it. */
  handlerOf<T>({ handlers }: EntryPoint, protocol: Protocol<T>, agentId: string): T | undefined {
    const id = handlers[protocol.name]
    if (id === undefined) return undefined
    return this.#provide(id, protocol.methods, { id: `agent:${agentId}`, openCalls: [] }) as T
  }

  /** Whether {@link Exchange.close} has anything to do. */
  get needsClosing(): boolean {
    return this.#disposables !== undefined
  }

  /** For the exchange of a run, which takes agent-scoped instances from here. */
  providerOf(id: string): Provider | undefined {
    return this.#providers.get(id)
  }

  /** Disposes what was made here, last made first. A failure is reported and keeps no other from being disposed. */
  async close(report: (message: string) => void): Promise<void> {
    const disposables = this.#disposables?.reverse() ?? []
    this.#disposables = undefined
    for (const { id, instance } of disposables) {
      try {
        await (instance[Symbol.asyncDispose]?.() ?? instance.dispose?.())
      } catch (error) {
        report(`Module '${id}' could not be disposed: ${messageOf(error)}`)
      }
    }
  }

  #provideFromOutside(id: string, moduleClass: string, instance: object): void {
    this.#providers.set(id, { instance, callee: { moduleId: id, moduleClass, reference: id }, openCalls: [] })
  }

  #dependenciesOf({ id, links }: WiredModule, openCalls: readonly string[]): Record<string, unknown> {
    const dependencies: Record<string, unknown> = {}
    const caller = this.#options.recorder && { id, openCalls }
    for (const link of links) dependencies[link.field] = this.#follow(link, caller)
    return dependencies
  }

  #follow({ arity, providers, methods }: Link, caller: Caller | undefined): unknown {
    if (arity === 'many') return providers.map((id) => this.#provide(id, methods, caller))
    const [id] = providers
    return id === undefined ? undefined : this.#provide(id, methods, caller)
  }

  #provide(id: string, methods: readonly string[], caller: Caller | undefined): object {
    const { instance, callee, openCalls } = this.#find(id)
    const { recorder } = this.#options
    return recorder && caller ? makeFacade(instance, methods, callee, openCalls, caller, recorder) : instance
  }

  #find(id: string): Provider {
    const provider = this.#providers.get(id) ?? this.#options.shared?.providerOf(id)
    if (!provider) throw new Error(`The plan names '${id}' before it was made.`)
    return provider
  }
}

function calleeOf({ id, module, reference }: WiredModule): Callee {
  return { moduleId: id, moduleClass: module.name, reference }
}

function checkInstance({ id, reference, module }: WiredModule, instance: unknown): asserts instance is object {
  for (const { name, methods } of module.provides) {
    const missing = methods.find(
      (method) => typeof (instance as Record<string, unknown> | null)?.[method] !== 'function',
    )
    if (missing === undefined) continue
    const message = `Module '${id}' (${reference}) provides '${name}', and what its create returned has no method '${missing}'.`
    throw new HostError('MODULE_INVALID', message, {
      suggestions: [`Add ${missing} to the object that create returns.`],
    })
  }
}

function isDisposable(instance: object): instance is MaybeDisposable {
  return Symbol.asyncDispose in instance || typeof (instance as MaybeDisposable).dispose === 'function'
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}
