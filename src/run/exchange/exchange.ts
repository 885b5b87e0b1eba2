import { isPromise, settlesWithin } from '../../async.ts'
import { HostError, messageOf } from '../../errors.ts'
import type { MaybeDisposable } from '../../module/define-module.ts'
import type { LoadedModule } from '../../module/load-module.ts'
import { ApprovalPolicy } from '../../protocols/approval-policy.ts'
import { LLM } from '../../protocols/llm.ts'
import type { Protocol } from '../../protocols/protocol.ts'
import type { Run } from '../../protocols/run.ts'
import type { Storage } from '../../protocols/storage.ts'
import { ToolProvider } from '../../protocols/tool-provider.ts'
import type { AgentBlueprint } from '../../wiring/plan-agent.ts'
import { type EntryPoint, type Link, RUN_PROVIDERS, STORAGE, type WiredModule } from '../../wiring/wiring.ts'
import type { AgentRun } from '../agent-run.ts'
import type { Boundaries } from '../calls/boundaries.ts'
import { type Callee, type Caller, makeFacade, type Recorder, recordFailedCreate } from '../calls/facade.ts'
import { completeRequests, recordLLM } from '../calls/recorded-llm.ts'
import { CLIENT_TOOL_PROVIDER, recordToolProvider } from '../calls/recorded-tools.ts'
import { ToolChecks } from '../checks/tool-checks.ts'
import type { RunConversation, RunResponse } from './run-providers.ts'
import { storageOfRun } from './storage-of-run.ts'

const NONE: ReadonlySet<string> = new Set()

/** Pseudo module: the provider of the tools that the client of a run brings. */
const CLIENT_TOOLS = '__client__'

/** A module of the agent as events name it. */
export interface NamedCallee extends Callee {
  /** True for one that passes requests on to other models. */
  readonly asksModels?: boolean
  /** True for one that says `boundary: true`. */
  readonly isBoundary?: boolean
  /** Checks of the tools of a module that is not of the library: those check their own. */
  readonly toolChecks?: ToolChecks
}

/** Options of a new exchange. */
export interface ExchangeOptions {
  /** Names of the agent's modules in events. */
  readonly callees: ReadonlyMap<string, NamedCallee>
  /** The exchange of the agent-scoped modules. Of that one itself: of a variant, that of its agent; absent otherwise. */
  readonly shared?: Exchange
  /** Response provided by the run; absent for the agent-scoped modules. */
  readonly response?: RunResponse
  readonly conversation?: RunConversation
  /** True when the client of the run brings tools: dependencies on every ToolProvider then get them too. */
  readonly hasClientTools?: boolean
  /** Instances to take instead of a module's own, by module id. They are neither made nor disposed here. */
  readonly overrides?: Readonly<Record<string, object>> | undefined
  /** Ids of the modules that decide which calls need a person. */
  readonly policies?: readonly string[]
  /** Run of a tenant: storage that a module uses without naming a run is the tenant's; absent for a run of no tenant. */
  readonly tenantRun?: Run | undefined
  /** Records every call between modules; absent without listeners, and then nothing is wrapped. */
  readonly recorder?: Recorder | undefined
  /** Stands at the calls that leave the agent; absent unless a tape is recorded or played. */
  readonly boundaries?: Boundaries | undefined
  /** Told what modules do wrong without failing. */
  readonly warn?: (message: string) => void
  /** Run that the instances belong to; absent for the agent-scoped modules. */
  readonly run?: AgentRun
}

/** Options of closing an exchange. */
interface CloseOptions {
  /** Ids of modules that are still needed. */
  readonly kept?: ReadonlySet<string> | undefined
  /** Time that all may take together; absent waits for as long as it takes. */
  readonly limitMs?: number
}

/** Instances of modules, made and handed to each other as a plan says. */
export class Exchange {
  readonly #options: ExchangeOptions
  readonly #instances = new Map<string, object>()
  /** The observed calls that each instance is within. */
  #openCalls: Map<string, string[]> | undefined
  #disposables: { readonly id: string; readonly instance: MaybeDisposable }[] | undefined

  constructor(options: ExchangeOptions) {
    this.#options = options
    const { response, conversation, overrides } = options
    if (response) this.#instances.set(RUN_PROVIDERS.Response, response)
    if (conversation) this.#instances.set(RUN_PROVIDERS.ConversationHistory, conversation)
    if (options.hasClientTools) this.#instances.set(CLIENT_TOOLS, CLIENT_TOOL_PROVIDER)
    for (const id in overrides) this.#instances.set(id, overrides[id] as object)
  }

  /**
   * Makes the instances of these modules, each after those that it depends on.
   *
   * @returns a promise only for modules that are created asynchronously: every run would pay for a promise
   */
  open(modules: readonly WiredModule[], from = 0): Promise<void> | undefined {
    for (let index = from, wired = modules[index]; wired; wired = modules[++index]) {
      if (this.#instances.has(wired.id)) continue
      try {
        const created: unknown = wired.module.create(this.#dependenciesOf(wired), wired.config, wired.context)
        if (isPromise(created)) return this.#openRest(wired, created, modules, index + 1)
        this.#accept(wired, created)
      } catch (error) {
        throw this.#noteFailure(wired, error)
      }
    }
    return undefined
  }

  /** The module that handles a protocol at an entry point, as the agent itself calls it. */
  handlerOf<T>({ handlers }: EntryPoint, protocol: Protocol<T>, agentId: string): T | undefined {
    const id = handlers[protocol.name]
    return id === undefined ? undefined : this.provideToAgent(id, protocol, agentId)
  }

  /** A module that was opened here, as the agent itself calls it. */
  provideToAgent<T>(id: string, protocol: Protocol<T>, agentId: string): T {
    const callerId = `agent:${agentId}`
    return this.#provide(id, protocol, callerId, this.#options.recorder && { id: callerId, openCalls: [] }) as T
  }

  /** The tools that the client of the run brings, as the agent itself calls them. */
  clientTools(agentId: string): ToolProvider {
    return this.provideToAgent(CLIENT_TOOLS, ToolProvider, agentId)
  }

  /** Returns true when this module has an instance, of the run's own or shared. */
  has(id: string): boolean {
    return this.#instances.has(id) || this.#options.shared?.has(id) === true
  }

  /** True when {@link Exchange.close} has anything to do. */
  get needsClosing(): boolean {
    return this.#disposables !== undefined && this.#disposables.length > 0
  }

  /**
   * Disposes the instances of this exchange in reverse order of creation. A failure is reported and keeps no other from being disposed,
   * nor does one that is not over after the limit.
   */
  async close(
    report: (message: string) => void,
    { kept = NONE, limitMs = Infinity }: CloseOptions = {},
  ): Promise<void> {
    const all = this.#disposables ?? []
    this.#disposables = all.filter(({ id }) => kept.has(id))
    const dueMs = performance.now() + limitMs
    for (const { id, instance } of all.filter((disposable) => !kept.has(disposable.id)).reverse()) {
      const disposing = dispose(id, instance, report)
      if (!disposing) continue
      if (dueMs === Infinity) await disposing
      else if (!(await settlesWithin(disposing, Math.max(dueMs - performance.now(), 0)))) {
        report(`Module '${id}' is not disposed after ${limitMs / 1000} s: its run no longer waits for it.`)
      }
    }
  }

  /** For the exchange of a run, which takes agent-scoped instances from here. */
  instanceOf(id: string): object | undefined {
    return this.#instances.get(id) ?? this.#options.shared?.instanceOf(id)
  }

  async #openRest(
    wired: WiredModule,
    making: PromiseLike<unknown>,
    modules: readonly WiredModule[],
    next: number,
  ): Promise<void> {
    try {
      this.#accept(wired, await making)
    } catch (error) {
      throw this.#noteFailure(wired, error)
    }
    await this.open(modules, next)
  }

  #noteFailure({ id }: WiredModule, error: unknown): unknown {
    const { recorder, callees } = this.#options
    const callee = callees.get(id)
    if (recorder && callee) recordFailedCreate(callee, recorder, error)
    return error
  }

  #accept(wired: WiredModule, instance: unknown): void {
    const made: object = Object(instance)
    if (isDisposable(made)) {
      this.#disposables ??= []
      this.#disposables.push({ id: wired.id, instance: made })
    }
    // An instance that fails this check is disposed of, too.
    checkInstance(wired, instance)
    this.#instances.set(wired.id, instance)
  }

  #dependenciesOf({ id, links, storage }: WiredModule): Record<string, unknown> {
    const dependencies: Record<string, unknown> = {}
    const caller = this.#options.recorder && { id, openCalls: this.#openCallsOf(id) }
    for (const link of links) dependencies[link.field] = this.#follow(link, id, caller, storage)
    return dependencies
  }

  #follow(link: Link, callerId: string, caller: Caller | undefined, storage: Storage): unknown {
    const { tenantRun } = this.#options
    const protocol = { name: link.protocol, methods: link.methods }
    const own = () => (tenantRun ? storageOfRun(storage, tenantRun) : storage)
    const providers = link.providers.map((id) =>
      this.#provide(id, protocol, callerId, caller, id === STORAGE ? own() : undefined),
    )
    if (link.arity !== 'many') return providers[0]
    const takesClientTools = this.#options.hasClientTools && protocol.name === ToolProvider.name
    return takesClientTools ? [...providers, this.#provide(CLIENT_TOOLS, protocol, callerId, caller)] : providers
  }

  /** @param own instance for this caller alone, unless the run overrides it */
  #provide(id: string, protocol: Protocol, callerId: string, caller: Caller | undefined, own?: object): object {
    const provided = this.#provideRecorded(id, protocol, callerId, caller, own)
    return protocol.name === LLM.name ? completeRequests(provided as LLM) : provided
  }

  #provideRecorded(id: string, protocol: Protocol, callerId: string, caller: Caller | undefined, own?: object): object {
    const { recorder, shared, callees } = this.#options
    const instance = this.#instances.get(id) ?? shared?.instanceOf(id) ?? own
    if (!instance) throw new Error(`The plan names '${id}' before it was created.`)
    const attached = this.#attach(this.#checked(instance, id, protocol.name), id, protocol, callerId)
    const recorded = this.#record(attached, id, protocol.name)
    if (!recorder || !caller) return recorded
    const named: NamedCallee = callees.get(id) ?? { moduleId: id, moduleClass: 'Override', reference: id }
    const callee = protocol.name === LLM.name ? withModel(named, instance as LLM) : named
    return makeFacade(recorded, protocol, callee, this.#openCallsOf(id), caller, recorder)
  }

  /** Attaches the boundaries of a tape; tools of the client are the host's own. */
  #attach(instance: object, moduleId: string, protocol: Protocol, callerId: string): object {
    const { boundaries, callees, run } = this.#options
    if (!boundaries || moduleId === CLIENT_TOOLS) return instance
    const isDeclared = callees.get(moduleId)?.isBoundary === true
    return boundaries.attach(instance, { moduleId, callerId, protocol, isDeclared }, run)
  }

  /** Models and tools are always recorded: the trail of the run, approvals and waiting depend on it. */
  #record(instance: object, id: string, protocol: string): object {
    if (protocol === LLM.name)
      return recordLLM(
        instance as LLM,
        (message) => this.#options.warn?.(`module '${id}' ${message}`),
        this.#options.callees.get(id)?.asksModels,
      )
    if (protocol !== ToolProvider.name || id === CLIENT_TOOLS) return instance
    return recordToolProvider(instance as ToolProvider, id, (policy, agentId) => this.#policy(policy, agentId))
  }

  /** Behind the boundary: a tape has what the model asked for, and no listing that is for the check alone. */
  #checked(instance: object, id: string, protocol: string): object {
    const { callees, warn } = this.#options
    const checks = protocol === ToolProvider.name ? callees.get(id)?.toolChecks : undefined
    return checks?.checked(instance as ToolProvider, (message) => warn?.(`module '${id}' ${message}`)) ?? instance
  }

  #policy(id: string, agentId: string): ApprovalPolicy {
    const { name } = ApprovalPolicy
    if (this.has(id) && this.#options.policies?.includes(id)) return this.provideToAgent(id, ApprovalPolicy, agentId)
    throw new HostError('MODULE_INVALID', `approval names the module '${id}', which provides no ${name} here.`)
  }

  #openCallsOf(id: string): string[] {
    this.#openCalls ??= new Map()
    let calls = this.#openCalls.get(id)
    if (!calls) {
      calls = []
      this.#openCalls.set(id, calls)
    }
    return calls
  }
}

/**
 * Disposes one instance.
 *
 * @returns a promise only where it takes time; a failure is reported
 */
function dispose(id: string, instance: MaybeDisposable, report: (message: string) => void): Promise<void> | undefined {
  const fail = (error: unknown) => report(`Module '${id}' could not be disposed: ${messageOf(error)}`)
  try {
    const disposing: unknown = instance[Symbol.asyncDispose]?.() ?? instance.dispose?.()
    return isPromise(disposing) ? Promise.resolve(disposing).then(() => {}, fail) : undefined
  } catch (error) {
    return void fail(error)
  }
}

/** Returns the names by which events refer to the modules of an agent and to the providers of a run. */
export function nameCallees({
  modules,
  loaded,
}: Pick<AgentBlueprint, 'modules' | 'loaded'>): ReadonlyMap<string, NamedCallee> {
  const ofRun = Object.entries(RUN_PROVIDERS).map(([protocol, id]): [string, Callee] => [
    id,
    { moduleId: id, moduleClass: protocol, reference: id },
  ])
  const ofModules = modules.map(({ id, module, reference, links }): [string, NamedCallee] => [
    id,
    {
      moduleId: id,
      moduleClass: module.name,
      reference,
      asksModels: asksModels(links),
      isBoundary: module.boundary,
      ...(isChecked(loaded.get(id)) && { toolChecks: new ToolChecks() }),
    },
  ])
  const storage: Callee = { moduleId: STORAGE, moduleClass: 'Storage', reference: STORAGE }
  const clientTools: Callee = { moduleId: CLIENT_TOOLS, moduleClass: 'ClientTools', reference: CLIENT_TOOLS }
  return new Map([...ofRun, [STORAGE, storage], [CLIENT_TOOLS, clientTools], ...ofModules])
}

/** Modules of the library, and the project's copies of them, check the arguments of their tools. */
function isChecked(loaded: LoadedModule | undefined): boolean {
  const isOwn = loaded?.source === 'project' || loaded?.source === 'package'
  return isOwn && loaded.module.provides.some(({ name }) => name === ToolProvider.name)
}

function asksModels(links: readonly Link[]): boolean {
  return links.some(({ protocol, providers }) => protocol === LLM.name && providers.length > 0)
}

/** Names the model of a module that asks no other one. */
function withModel(callee: NamedCallee, { modelInfo }: LLM): Callee {
  if (callee.asksModels) return callee
  return { ...callee, model: { name: modelInfo?.name ?? null, provider: modelInfo?.provider ?? null } }
}

function checkInstance({ id, reference, module }: WiredModule, instance: unknown): asserts instance is object {
  for (const { name, methods, optionalMethods = [] } of module.provides) {
    const missing = methods.filter(
      (method) => typeof Reflect.get(Object(instance), method) !== 'function' && !optionalMethods.includes(method),
    )
    if (missing.length === 0) continue
    const quoted = missing.map((method) => `'${method}'`).join(', ')
    const message = `Module '${id}' (${reference}) provides '${name}', and what its create returned has no method ${quoted}.`
    throw new HostError('MODULE_INVALID', message, {
      suggestions: [`Add ${missing.join(', ')} to the object that create returns.`],
    })
  }
}

function isDisposable(instance: object): instance is MaybeDisposable {
  return Symbol.asyncDispose in instance || ('dispose' in instance && typeof instance.dispose === 'function')
}
