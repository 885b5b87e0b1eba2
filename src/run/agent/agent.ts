import { isDeepStrictEqual } from 'node:util'
import { AgentError } from '../../definition/problem.ts'
import type { Log } from '../../protocols/log.ts'
import type { Protocol } from '../../protocols/protocol.ts'
import type { Run } from '../../protocols/run.ts'
import type { VariedAgent } from '../../variants/plan-variant.ts'
import { openCallsOf } from '../../wire/paired-calls.ts'
import type { TracedChange, VariantChange } from '../../wire/variant.ts'
import { type AgentDescription, type DescribedAgent, describeAgent } from '../../wiring/describe-agent.ts'
import { findHostModules, type HostModules, withDependencies } from '../../wiring/host-modules.ts'
import { type AgentBlueprint, type CalledName, toProblem } from '../../wiring/plan-agent.ts'
import { getAt } from '../../wiring/variables.ts'
import { type EntryPoint, entryPointOf, type WiredModule } from '../../wiring/wiring.ts'
import { AgentRun, type CallChild } from '../agent-run.ts'
import type { EventListeners, ReplayOrigin } from '../calls/agent-events.ts'
import type { Boundaries, BoundedAgent } from '../calls/boundaries.ts'
import type { Recorder } from '../calls/facade.ts'
import { checkOutput } from '../checks/check-output.ts'
import { callAgent } from '../child-runs/child-run.ts'
import type { ParentRun, StartChild } from '../child-runs/parent-run.ts'
import { Exchange, type NamedCallee, nameCallees } from '../exchange/exchange.ts'
import { RunConversation, RunResponse } from '../exchange/run-providers.ts'
import { GuardRails } from '../guard-rails.ts'
import { handleMessage } from '../handle-message.ts'
import { type RunObserver, StartedRun } from '../started-run.ts'
import type { RunQuota } from '../state/run-quota.ts'
import { withUniqueCalls } from '../state/unique-calls.ts'
import type { RunHandle, RunResult, Turn } from '../turn.ts'
import { hasHeldCall } from '../waiting/held-texts.ts'
import { findProvider, settleAnswers, withKeptAnswers } from '../waiting/settle-answers.ts'
import { type AgentCapabilities, capabilitiesOf } from './agent-capabilities.ts'
import type { AgentInfo } from './agent-info.ts'
import { informOf } from './agent-info.ts'
import { RunModules } from './run-modules.ts'
import { toHostError } from './to-host-error.ts'

/** Time that the modules of a run together may hold its answer while they are disposed. */
const DISPOSAL_MS = 1000

/** One version of an agent: opened when it is registered, closed when the last run that uses it has ended. */
export class Agent {
  readonly info: AgentInfo
  /** The project's files that it consists of (absolute paths). */
  readonly files: ReadonlySet<string>
  /** Agents that it calls, by their names and globs. */
  readonly calls: ReadonlyMap<string, CalledName>
  /** Secrets of its triggers, by their ids. */
  readonly triggerSecrets: ReadonlyMap<string, string>
  /** Keys that its triggers and schedules name. */
  readonly namedKeys: AgentBlueprint['namedKeys']
  readonly #entryPoints: ReadonlyMap<string, EntryPoint>
  readonly #modules: readonly WiredModule[]
  readonly #hostModules: HostModules
  /** Modules that output guards need; they outlive the others of a run. */
  readonly #guarding: ReadonlySet<string>
  readonly #runModules: RunModules
  readonly #callees: ReadonlyMap<string, NamedCallee>
  readonly #described: DescribedAgent
  readonly #valueOf: AgentSurroundings['valueOf']
  readonly #shared: Exchange
  readonly #events: EventListeners
  readonly #boundaries: Boundaries | undefined
  readonly #capabilitiesByEntry = new Map<string, AgentCapabilities>()
  readonly #log: Log
  readonly #warn: (message: string) => void
  readonly #callChild: CallChild | undefined
  readonly #replays: ReplayOrigin | undefined
  #runs = 0
  #onIdle: (() => void) | undefined

  private constructor(
    blueprint: AgentBlueprint,
    shared: Exchange,
    { events, log, boundaries, startChild, replays, valueOf }: AgentSurroundings,
    warn: (message: string) => void,
  ) {
    this.#warn = warn
    this.info = informOf(blueprint)
    const { source, modules, loaded, entryPoints } = blueprint
    this.#described = { definition: source.definition, modules, loaded, entryPoints }
    this.#valueOf = valueOf
    this.files = blueprint.files
    this.calls = blueprint.calls
    this.triggerSecrets = blueprint.triggerSecrets
    this.namedKeys = blueprint.namedKeys
    this.#entryPoints = blueprint.entryPoints
    this.#modules = blueprint.modules
    this.#hostModules = findHostModules(source.definition, modules)
    this.#guarding = withDependencies(this.#hostModules.OutputGuard, modules)
    this.#runModules = new RunModules(blueprint, this.#hostModules)
    this.#callees = nameCallees(blueprint)
    this.#shared = shared
    this.#events = events
    this.#boundaries = boundaries
    this.#log = log
    this.#replays = replays
    this.#callChild = startChild && ((run, call) => callAgent(run, call, startChild))
  }

  /**
   * Makes the agent-scoped modules.
   *
   * @param base agent that this one is a variant of: modules that are the same are taken from it, so it must stay open for longer
   * @throws AgentError `AGENT_INVALID` naming the module that failed to load; those created before are disposed
   */
  static async open(blueprint: AgentBlueprint, surroundings: AgentSurroundings, base?: Agent): Promise<Agent> {
    const { events, log, boundaries } = surroundings
    const { definition, problemAt } = blueprint.source
    const recorder = makeRecorder(definition.id, undefined, events)
    const warn = warnOnce(definition.id, log)
    const shared = new Exchange({
      warn,
      callees: nameCallees(blueprint),
      recorder,
      boundaries,
      ...(base && { shared: base.#shared }),
    })
    const own = base ? base.#changedIn(blueprint.modules) : blueprint.modules
    for (const module of own.filter(({ scope }) => scope === 'agent')) {
      try {
        await shared.open([module])
      } catch (cause) {
        await shared.close((message) => log.warn(`${definition.id}: ${message}`))
        const index = definition.modules.findIndex(({ id }) => id === module.id)
        const subject = `module '${module.id}' (${module.reference}) failed to load`
        const problem = toProblem(problemAt, ['modules', index], subject, cause)
        const callsAgents = blueprint.calls.size > 0
        throw new AgentError('AGENT_INVALID', [problem], { files: blueprint.files, callsAgents, cause })
      }
    }
    return new Agent(blueprint, shared, surroundings, warn)
  }

  /** Modules of a variant with another config, or with one of these among their dependencies. */
  #changedIn(modules: readonly WiredModule[]): readonly WiredModule[] {
    const configs = new Map(this.#modules.map(({ id, config }) => [id, config]))
    const changed = new Set<string>()
    return modules.filter(({ id, config, links }) => {
      const dependsOnChanged = links.some(({ providers }) => providers.some((provider) => changed.has(provider)))
      const isChanged = dependsOnChanged || !isDeepStrictEqual(config, configs.get(id))
      if (isChanged) changed.add(id)
      return isChanged
    })
  }

  /** Definition and modules, for a variant. */
  get varied(): VariedAgent {
    const { definition, loaded } = this.#described
    return { definition, loaded, file: this.info.file, files: this.files }
  }

  /** Its modules with their config, and the whole wiring. */
  describe(): AgentDescription {
    return describeAgent(this.#described)
  }

  /** Returns a value of a module's config, as {@link Agent.describe} shows it. */
  valueOf({ module, path }: Pick<VariantChange, 'module' | 'path'>): unknown {
    return getAt(this.describe().modules.find(({ id }) => id === module)?.config, path)
  }

  hasEntryPoint(name: string): boolean {
    return this.#entryPoints.has(name)
  }

  /**
   * Runs one turn. What goes wrong in it is in the handle's `result`. No code of the agent runs before this has returned.
   *
   * @param observer called once when the result is settled, and once when no code of the run is left
   * @param parent run that begins this one
   * @throws HostError `REQUEST_INVALID` for a request that this agent cannot serve as it is meant
   */
  start(entryPoint: string, rawTurn: Turn, observer: RunObserver, parent?: ParentRun): RunHandle {
    const { run, turn } = this.#makeRun(entryPoint, rawTurn, parent, observer.quota)
    if (this.#hostModules.OutputGuard.length > 0) run.answer.holdText()
    const handle = new StartedRun(run, observer)
    void this.#runTurn(run, turn, handle, (exchange, conversation) => this.#handle(exchange, conversation, run, turn))
    return handle
  }

  /** @throws HostError `REQUEST_INVALID` as {@link Agent.start} */
  check(entryPoint: string, turn: Turn): void {
    this.#makeRun(entryPoint, turn)
  }

  #makeRun(entryPoint: string, rawTurn: Turn, parent?: ParentRun, quota?: RunQuota): { run: AgentRun; turn: Turn } {
    const { id: agentId, version: agentVersion } = this.info
    const { requestOptions } = this.#described.definition.runPolicy
    // Few turns have answers; every function that the others run costs each request.
    const given = rawTurn.answers ? withKeptAnswers(rawTurn) : rawTurn
    const turn = withUniqueCalls(requestOptions === 'ignore' ? { ...given, requestOptions: undefined } : given)
    const [replays, callChild, { approvalTtl }] = [this.#replays, this.#callChild, this.info]
    const variant = turn.variant?.map((change) => this.#withBefore(change))
    const owner = { agentId, agentVersion, variant, entryPoint, parent, replays, callChild, quota, approvalTtl }
    const run = AgentRun.begin(owner, turn)
    this.#refuseUnfit(run, turn)
    return { run, turn }
  }

  #withBefore(change: VariantChange): TracedChange {
    const before = this.#valueOf(change.agent ?? this.info.id, change)
    return before === undefined ? change : { ...change, before }
  }

  /**
   * Calls a single module as a run of its own: its dependencies are created as for any run. Never throws: an error
   * is in the handle's `result`.
   */
  startCall<T>({ moduleId, protocol, act, isLook, ...caller }: ModuleCall<T>, observer: RunObserver): RunHandle {
    const { id: agentId, version: agentVersion } = this.info
    const turn: Turn = { messages: [], ...caller }
    const owner = {
      agentId,
      agentVersion,
      entryPoint: moduleId,
      callChild: this.#callChild,
      quota: observer.quota,
      isLook,
    }
    const run = AgentRun.begin(owner, turn)
    const handle = new StartedRun(run, observer)
    void this.#runTurn(run, turn, handle, async (exchange) => {
      await exchange.open(this.#runModules.ofCall(moduleId, protocol))
      run.abort.throwIfRequested()
      await act(exchange.provideToAgent(moduleId, protocol, agentId), run)
    })
    return handle
  }

  /** Keeps this version open for a run that is about to start. Returns a function that ends it. */
  pin(): () => void {
    this.#runs++
    let isPinned = true
    return () => {
      if (isPinned) this.#leave()
      isPinned = false
    }
  }

  /** Tells whether a module of this agent provides a protocol. */
  hasProvider(moduleId: string, { name }: Protocol): boolean {
    const provided = this.#modules.find(({ id }) => id === moduleId)?.module.provides ?? []
    return provided.some((protocol) => protocol.name === name)
  }

  /** Disposes the agent-scoped modules, once no run uses them any more. No run may be started afterwards. */
  async close(): Promise<void> {
    if (this.#runs > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    }
    await this.#shared.close((message) => this.#log.warn(`${this.info.id}: ${message}`))
  }

  /** Settles the handle in any case. */
  async #runTurn(run: AgentRun, turn: Turn, handle: StartedRun, work: Work): Promise<void> {
    const { abort, answer, clientTools } = run
    const response = new RunResponse(run)
    const conversation = new RunConversation(turn.messages)
    this.#runs++
    try {
      const isBounded = !run.isLook && this.#boundaries?.begin(run, turn, handle.result, this.#bounded())
      const exchange = new Exchange({
        warn: this.#warn,
        callees: this.#callees,
        shared: this.#shared,
        response,
        conversation,
        hasClientTools: clientTools.length > 0,
        overrides: turn.overrides,
        policies: this.#hostModules.ApprovalPolicy,
        tenantRun: run.tenant === '' ? undefined : run,
        recorder: this.#events.isEmpty || run.isLook ? undefined : makeRecorder(run.agentId, run, this.#events),
        boundaries: isBounded ? this.#boundaries : undefined,
        run,
      })
      await undefined
      try {
        abort.throwIfRequested()
        await work(exchange, conversation).catch((error) => throwUnlessWaiting(error, run))
        response.beginClosing()
        if (answer.holdsText) await this.#releaseText(exchange, run)
      } finally {
        // Before the answer is closed: a module may hold something back until then.
        if (exchange.needsClosing) await this.#dispose(exchange)
      }
      abort.throwIfRequested()
      checkOutput(run)
      handle.succeed(resultOf(run, turn))
    } catch (cause) {
      // If beginning the run has failed, nobody has its handle yet: the caller gets it first, then the failure.
      await undefined
      handle.fail(toHostError(cause, run))
    } finally {
      abort.closeStreams()
      response.close()
      this.#leave()
      handle.finish()
    }
  }

  /** Has the guards inspect the whole text: the modules that may still add to it are disposed before. */
  async #releaseText(exchange: Exchange, run: AgentRun): Promise<void> {
    if (exchange.needsClosing) await this.#dispose(exchange, this.#guarding)
    run.abort.throwIfRequested()
    await new GuardRails(this.#hostModules, exchange, run).release()
  }

  #bounded(): BoundedAgent {
    const { id, version, file } = this.info
    const { definition, loaded } = this.#described
    return { id, version, file, definition, loaded, files: this.files }
  }

  #leave(): void {
    if (--this.#runs === 0) this.#onIdle?.()
  }

  async #handle(exchange: Exchange, conversation: RunConversation, run: AgentRun, turn: Turn): Promise<void> {
    const opening = exchange.open(this.#neededModules(run.entryPoint, turn.overrides))
    if (opening) {
      await opening
      run.abort.throwIfRequested()
    }
    if (typeof run.requestOptions.toolChoice === 'object')
      await this.#refuseUnknownChoice(run.requestOptions.toolChoice.tool, exchange, run)
    if (turn.answers) await settleAnswers(turn, conversation, exchange, this.#modules, run)
    if (run.waiting.hasBegun) return
    if (this.#mayHold(turn) && !(await this.#admit(exchange, conversation, run, turn))) return
    const entryPoint = entryPointOf(this.#entryPoints, run.entryPoint)
    await handleMessage(exchange, entryPoint, conversation.getHistory(), run)
  }

  /** A choice may name a tool of the agent: what those are is known once they are listed. */
  async #refuseUnknownChoice(tool: string, exchange: Exchange, run: AgentRun): Promise<void> {
    if (run.clientTools.some(({ name }) => name === tool)) return
    if (await findProvider(tool, exchange, this.#modules, run)) return
    throw run.refuse(`tool_choice: neither tools nor agent '${run.agentId}' has a tool '${tool}'.`, 'tool_choice')
  }

  #mayHold({ messages }: Turn): boolean {
    return this.#hostModules.InputGuard.length > 0 || messages.some(hasHeldCall)
  }

  /** @returns false for a message that is not handled */
  async #admit(exchange: Exchange, conversation: RunConversation, run: AgentRun, turn: Turn): Promise<boolean> {
    const isOpen = openCallsOf(turn.messages).some(({ held, name }) => held && name === 'accept_message')
    const rails = new GuardRails(this.#hostModules, exchange, run)
    return rails.admit(conversation, turn.answers !== undefined && !isOpen)
  }

  #refuseUnfit(run: AgentRun, { requestOptions = {}, messages, answers }: Turn): void {
    const { requestOptions: policy } = this.#described.definition.runPolicy
    const [option] = policy === 'refuse' ? Object.keys(requestOptions) : []
    if (option !== undefined) {
      throw run.refuse(`Agent '${run.agentId}' takes no options for its model (here: ${option}).`)
    }
    this.capabilities(run.entryPoint).check(run, messages, answers !== undefined)
  }

  /** Abilities at one of its entry points. */
  capabilities(entryPoint: string): AgentCapabilities {
    let known = this.#capabilitiesByEntry.get(entryPoint)
    if (!known) {
      known = capabilitiesOf(entryPointOf(this.#entryPoints, entryPoint), this.#modules)
      this.#capabilitiesByEntry.set(entryPoint, known)
    }
    return known
  }

  #neededModules(entryPoint: string, overrides: Turn['overrides']): readonly WiredModule[] {
    if (!overrides) return this.#runModules.of(entryPoint)
    return this.#runModules.withOverrides(entryPoint, overrides, [...this.#callees.keys()])
  }

  #dispose(exchange: Exchange, kept?: ReadonlySet<string>): Promise<void> {
    return exchange.close((message) => this.#log.warn(`${this.info.id}: ${message}`), { kept, limitMs: DISPOSAL_MS })
  }
}

/** Parts of the host that its agents use. */
export interface AgentSurroundings {
  readonly events: EventListeners
  readonly log: Log
  /** Absent unless tapes are recorded or played. */
  readonly boundaries?: Boundaries | undefined
  /** Absent where no other agents can be called. */
  readonly startChild?: StartChild
  /** Returns a value of an agent in service, as its file has it. */
  readonly valueOf: (agent: string, place: Pick<VariantChange, 'module' | 'path'>) => unknown
  /** Run that those of the agent replay; absent for an agent that is in service. */
  readonly replays?: ReplayOrigin
}

/** Call of one module of an agent, without the rest of it. */
export interface ModuleCall<T, R = unknown> extends Pick<Turn, 'user' | 'tenant' | 'metadata' | 'onQuestion'> {
  readonly moduleId: string
  /** That the module provides. */
  readonly protocol: Protocol<T>
  readonly act: (provider: T, run: Run) => R | Promise<R>
  /** True for a call that only looks at what a module has: it is no run in traces, lists and metrics. Default: false. */
  readonly isLook?: boolean | undefined
}

type Work = (exchange: Exchange, conversation: RunConversation) => Promise<void>

/** The run itself decides if it waits, whatever its handler throws or catches. */
function throwUnlessWaiting(error: unknown, { abort, waiting }: AgentRun): void {
  abort.throwIfRequested()
  if (!waiting.hasBegun) throw error
}

function makeRecorder(agentId: string, run: AgentRun | undefined, events: EventListeners): Recorder {
  let calls = 0
  const prefix = run?.id ?? agentId
  return { agentId, run, events, nextCallId: () => `${prefix}.${++calls}` }
}

function resultOf(run: AgentRun, { messages }: Turn): RunResult {
  const { id, answer, waiting } = run
  const added = answer.addedMessages()
  return {
    runId: id,
    status: waiting.hasBegun ? 'waiting' : 'completed',
    text: answer.text,
    attachments: answer.attachments,
    usage: answer.usage,
    // The run that continues a waiting one says how its answer ends.
    incompleteReason: waiting.hasBegun ? undefined : answer.incompleteReason,
    ...(answer.stopSequence === undefined || waiting.hasBegun ? {} : { stopSequence: answer.stopSequence }),
    pending: waiting.pendingWithDecisions(),
    trail: [...messages, ...added],
  }
}

/** Says each thing once, however often it happens. */
function warnOnce(agentId: string, log: Log): (message: string) => void {
  const told = new Set<string>()
  return (message) => {
    if (!told.has(message)) log.warn(`${agentId}: ${message}`)
    told.add(message)
  }
}
