import { resolve } from 'node:path'
import { raceAbort } from '../async.ts'
import type { Environment } from '../definition/interpolate.ts'
import { AgentError, formatProblem, type Problem } from '../definition/problem.ts'
import { badRequest } from '../errors.ts'
import {
  FUNCTION,
  NUMBER,
  OBJECT,
  object,
  optional,
  READABLE,
  requireGiven,
  SET,
  SIGNAL,
  TENANT,
  TEXT,
} from '../given.ts'
import { ModuleLoader } from '../module/load-module.ts'
import { ProjectCode } from '../module/project-code.ts'
import { type Log, silentLog } from '../protocols/log.ts'
import type { Run } from '../protocols/run.ts'
import type { Sealing } from '../protocols/sealing.ts'
import type { StorageSource } from '../protocols/storage.ts'
import type { Agent, AgentSurroundings, ModuleCall } from '../run/agent/agent.ts'
import type { Capabilities } from '../run/agent/agent-capabilities.ts'
import type { AgentInfo } from '../run/agent/agent-info.ts'
import { type AgentEventListener, EventListeners, type ReplayOrigin } from '../run/calls/agent-events.ts'
import { type Boundaries, behind } from '../run/calls/boundaries.ts'
import { CHANGES, LOCAL_OPTIONS, localOptions, MESSAGES, PENDING, TURN } from '../run/checks/given-turn.ts'
import { answersTo } from '../run/child-runs/child-run.ts'
import type { RunObserver } from '../run/started-run.ts'
import type { RunQuota } from '../run/state/run-quota.ts'
import type { RunEnd, RunHandle, RunResult, Turn } from '../run/turn.ts'
import { type PendingAnswer, toolCallOf } from '../run/waiting/pending-call.ts'
import { withKeptAnswers } from '../run/waiting/settle-answers.ts'
import { changesOfCalled } from '../variants/called-changes.ts'
import type { VariedAgent } from '../variants/plan-variant.ts'
import type { VariantChange } from '../wire/variant.ts'
import type { AgentDescription } from '../wiring/describe-agent.ts'
import { type AgentBlueprint, type Project, planAgent } from '../wiring/plan-agent.ts'
import { AgentVersions } from './agent-versions.ts'
import type { AgentCalls } from './called-agents.ts'
import { Listeners } from './listeners.ts'
import { NO_SEALING, NO_STORAGE } from './no-storage.ts'
import { type FoundAgent, type NameSeparator, RegisteredAgents } from './registered-agents.ts'
import { type Reservation, reserveAgent } from './reservation.ts'
import { type RunKind, RunningRuns, type Slot } from './running-runs.ts'
import { untilEnd } from './until-end.ts'
import { Visits } from './visits.ts'
import { checkAnswers, type ResumableRun, toNextTurn, toResumableRun } from './waiting-run.ts'

/** Options of an {@link AgentHost}. */
export interface AgentHostOptions {
  /** The project folder: modules, tools and every relative path belong to it. Default: the working directory. */
  readonly projectDir?: string
  /** Source of `${NAME}` in a config. Default: `process.env`. */
  readonly environment?: Environment
  readonly log?: Log
  /** Maximum number of concurrent runs; further ones fail with `OVERLOADED`. Default: no limit. */
  readonly maxConcurrentRuns?: number
  /** Maximum number of concurrent background runs, beside those. Default: no limit. */
  readonly maxBackgroundRuns?: number
  /** Time after which a run is aborted. Default: no limit. */
  readonly runTimeoutMs?: number | undefined
  /**
   * Records of modules that use `Storage`. Default: none; using it then fails. `openProject` keeps them in the store of the project,
   * `memoryStorage()` in memory.
   */
  readonly storage?: StorageSource
  /** Address at which people reach the server of the project, without a slash at the end. Default: `http://127.0.0.1:9001`. */
  readonly publicUrl?: string | undefined
  /** Encrypts what modules keep or give away. Default: none; using it then fails. */
  readonly sealing?: Sealing
}

/** Options of {@link AgentHost.register} and {@link AgentHost.replace}. */
export interface RegisterOptions {
  /** The file that the definition was read from, relative to the project: errors name it. */
  readonly file?: string
  /** Gives up as soon as it aborts, unless the agent is in service by then. */
  readonly signal?: AbortSignal
}

/** Options of {@link AgentHost.run} beside the messages. */
export interface RunOptions extends Omit<Turn, 'messages'> {
  /** Aborts the run. */
  readonly signal?: AbortSignal
}

/** Options of {@link AgentHost.resume}: the others are those of the run that waits. */
export type ResumeOptions = Pick<RunOptions, 'signal' | 'onEvent' | 'overrides'>

/** An agent and one of its entry points, as a name resolves at this moment. */
export interface Target {
  readonly agent: AgentInfo
  /** `__entry__` for the agent itself. */
  readonly entryPoint: string
  /** Inputs that the entry point takes beside text. */
  readonly capabilities: Capabilities
}

const HOST_OPTIONS = object({
  projectDir: optional(TEXT),
  environment: optional(OBJECT),
  log: optional(object({ info: FUNCTION, warn: FUNCTION, error: FUNCTION })),
  maxConcurrentRuns: optional(NUMBER),
  maxBackgroundRuns: optional(NUMBER),
  runTimeoutMs: optional(NUMBER),
  storage: optional(object({ storageOf: FUNCTION })),
  publicUrl: optional(TEXT),
  sealing: optional(OBJECT),
})
const REGISTER_OPTIONS = object({ file: optional(TEXT), signal: optional(SIGNAL) })
const RESUMABLE = object({ runId: TEXT, agent: TEXT, pending: PENDING, trail: MESSAGES, options: OBJECT })
const MODULE_CALL = object({
  moduleId: TEXT,
  protocol: object({ name: TEXT }),
  act: FUNCTION,
  user: optional(TEXT),
  tenant: optional(TENANT),
  metadata: optional(OBJECT),
  onQuestion: optional(FUNCTION),
})

/** Names the visits that a host serves: what does not exist for a visitor is neither found, listed nor run. The package does not export it. */
export const VISITS = Symbol('visits')

/** Names the method by which a part of this server stands at the calls that leave the agents. The package does not export it. */
export const ATTACH = Symbol('attach boundaries')

/** Run of an agent that is planned for it alone, to replay another run up to one of its calls. */
export interface ReplayingRun {
  readonly replays: ReplayOrigin
  /** @param agent as it is in service */
  plan(agent: VariedAgent, project: Project): Promise<AgentBlueprint>
  /** @param own what stands at the calls of other runs */
  bound(own: Boundaries | undefined): Boundaries
  /** @param version of the planned agent */
  turn(version: string): Turn
}

/**
 * Names the method that starts a turn which an adapter of this server has made, from a body that its schema has accepted. The package does not
 * export it: turns of programs and of foreign adapters come through {@link AgentHost.start}, which checks them.
 */
export const START_MADE = Symbol('start a turn that was made here')

/** Names the method that finds the secret of a trigger. The package does not export it: no public method gives a secret away. */
export const SECRET_OF = Symbol('secret of a trigger')

/** Names the method that warns of keys which are not in force. The package does not export it. */
export const MISSING_KEYS = Symbol('missing keys')

/** Names the method that starts a run which replays another. The package does not export it. */
export const START_REPLAY = Symbol('start a replay')

/**
 * Agents by id: registered, replaced, listed and run. Everything that can be decided about an agent is decided when it is
 * registered; a run makes only the instances that it needs.
 *
 * @example
 * ```ts
 * export async function ask(question: string): Promise<string> {
 *   const host = new AgentHost({ projectDir: '.' })
 *   await host.register({ id: 'echo', modules: [{ id: 'echo', module: 'echo' }] })
 *   try {
 *     const { text } = await host.run('echo', question)
 *     return text
 *   } finally {
 *     await host.close()
 *   }
 * }
 * ```
 */
export class AgentHost {
  readonly projectDir: string
  readonly #project: Project
  readonly #log: Log
  readonly #agents = new RegisteredAgents()
  readonly #missing = new Map<object, string>()
  readonly #listeners: EventListeners
  #boundaries: Boundaries | undefined
  readonly #running: RunningRuns
  /** @internal */
  readonly [VISITS] = new Visits()
  readonly #versions: AgentVersions
  readonly #onChange: Listeners
  readonly #onRunEnd: Listeners<RunEnd>
  readonly #onWaiting: Listeners<ResumableRun>

  constructor(options: AgentHostOptions = {}) {
    requireGiven(HOST_OPTIONS, options, 'options')
    const {
      projectDir = '.',
      environment = process.env,
      log = silentLog,
      maxConcurrentRuns = Infinity,
      maxBackgroundRuns = Infinity,
      runTimeoutMs = Infinity,
      storage = NO_STORAGE,
      sealing = NO_SEALING,
      publicUrl = 'http://127.0.0.1:9001',
    } = options
    this.projectDir = resolve(projectDir)
    const code = new ProjectCode(this.projectDir)
    const loader = new ModuleLoader(this.projectDir, code)
    this.#project = {
      dir: this.projectDir,
      environment,
      loader,
      code,
      log,
      storage,
      sealing,
      publicUrl,
      listAgents: () => this.#agents.listCallable(),
      missing: this.#missing,
    }
    this.#log = log
    this.#listeners = new EventListeners(log)
    this.#onChange = new Listeners('changes of the agents', log)
    this.#onRunEnd = new Listeners('ends of runs', log)
    this.#onWaiting = new Listeners('waiting runs', log)
    this.#versions = new AgentVersions(this.#project, () => this.#surroundings)
    this.#running = new RunningRuns({
      limits: { runs: maxConcurrentRuns, 'background runs': maxBackgroundRuns, looks: maxConcurrentRuns },
      timeoutMs: runTimeoutMs,
      onSettled: (describe) => {
        if (!this.#onRunEnd.isEmpty) this.#onRunEnd.tell(describe())
      },
    })
  }

  /**
   * Has something stand at the calls of agents that are registered from now on. What was attached before stands behind it.
   *
   * @internal
   */
  [ATTACH](boundaries: Boundaries): void {
    this.#boundaries = this.#boundaries ? behind(boundaries, this.#boundaries) : boundaries
  }

  /** Things outside that modules of agents wait for, as they report them: `<agent>/<module>: <what>`. */
  get missing(): readonly string[] {
    return [...this.#missing.values()].sort()
  }

  /**
   * Registers an agent.
   *
   * @param source the text of an agent file, or an object of the same shape, in which `module` may also be the result of
   *   `defineModule`
   * @throws AgentError `AGENT_INVALID` with every problem, `AGENT_DUPLICATE` when the id is taken
   */
  async register(source: unknown, options: RegisterOptions = {}): Promise<AgentInfo> {
    return this.#putNew(source, options)
  }

  /**
   * Puts a new version in the place of a registered agent. There is no moment without either; runs under way finish on
   * the version that they began with. The new version may have another id.
   *
   * @throws AgentError as {@link AgentHost.register}; the old version then stays
   * @throws HostError `AGENT_NOT_FOUND`
   */
  async replace(id: string, source: unknown, options: RegisterOptions = {}): Promise<AgentInfo> {
    requireGiven(TEXT, id, 'id')
    return this.#putNew(source, options, id)
  }

  async #putNew(source: unknown, options: RegisterOptions, replacedId?: string): Promise<AgentInfo> {
    requireGiven(READABLE, source, 'source')
    requireGiven(REGISTER_OPTIONS, options, 'options')
    const { file, signal } = options
    const blueprint = await raceAbort(planAgent(source, file, this.#project), signal)
    if (blueprint.source.definition.id !== replacedId) this.#agents.refuseDuplicate(blueprint)
    const agent = await this.#versions.open(blueprint, signal)
    try {
      // Opening takes time, and another may have come first.
      const old = this.#agents.put(agent, blueprint, replacedId)
      this.#onChange.tell()
      if (old) void this.#versions.retire(old)
      return agent.info
    } catch (error) {
      await agent.close()
      throw error
    }
  }

  /**
   * Takes an agent out of service. Runs under way finish.
   *
   * @throws HostError `AGENT_NOT_FOUND`
   */
  unregister(id: string): void {
    const agent = this.#agents.remove(id)
    this.#onChange.tell()
    void this.#versions.retire(agent)
  }

  /** In the order of registration. */
  list(): AgentInfo[] {
    const infos = this.#agents.all.map(({ info }) => info)
    const { sees } = this[VISITS].current ?? {}
    return sees ? infos.filter(({ id }) => sees(id)) : infos
  }

  get(id: string): AgentInfo | undefined {
    return this.#get(id)?.info
  }

  #get(id: string): Agent | undefined {
    return this.#agents.get(id, this[VISITS].current?.sees)
  }

  #find(name: string, separator: NameSeparator): FoundAgent {
    return this.#agents.find(name, separator, this[VISITS].current?.sees)
  }

  /** Agents in service that an agent can call, by its modules. */
  callsOf(id: string): AgentCalls[] {
    return this.#agents.callsOf(this.#agents.require(id, this[VISITS].current?.sees))
  }

  /** Returns the modules and wiring of an agent; undefined for an unknown id. */
  describe(id: string): AgentDescription | undefined {
    return this.#get(id)?.describe()
  }

  /** The agents that consist of any of these files (absolute paths). */
  agentsUsing(files: ReadonlySet<string>): AgentInfo[] {
    requireGiven(SET, files, 'files')
    return this.#agents.using(files).map(({ info }) => info)
  }

  /** The project's files that registered agents consist of (absolute paths). */
  files(): Set<string> {
    return new Set(this.#agents.all.flatMap(({ files }) => [...files]))
  }

  /** Problems of the agents in service: names of agents to call that there are none of at this moment. */
  problems(): Problem[] {
    return this.#agents.problems()
  }

  /** Forgets project code with these files (absolute paths): agents registered from now on load it again. */
  forgetFiles(changed: ReadonlySet<string>): void {
    requireGiven(SET, changed, 'changed')
    this.#project.loader.forget(changed)
  }

  /**
   * The agent that a name means: `<agent>`, or `<agent><separator><entry point>`. An exact agent id wins over a composed
   * name, since ids may hold dots.
   *
   * @throws HostError `AGENT_NOT_FOUND`
   */
  resolve(name: string, separator: NameSeparator = '/'): Target {
    const { agent, entryPoint } = this.#find(name, separator)
    return { agent: agent.info, entryPoint, capabilities: agent.capabilities(entryPoint) }
  }

  /** Tells whether a name means an agent at this moment. */
  has(name: string): boolean {
    try {
      return this.#find(name, '/') !== undefined
    } catch {
      return false
    }
  }

  /**
   * Checks that an agent takes a turn, without running it.
   *
   * @throws HostError `AGENT_NOT_FOUND`, `REQUEST_INVALID`
   */
  check(name: string, turn: Turn): void {
    requireGiven(TURN, turn, 'turn')
    const { agent, entryPoint } = this.#find(name, '/')
    this.#versions.variantOf(agent, turn).check(entryPoint, turn)
    this.#checkChildren(turn)
  }

  /** Refuses answers to child runs whose agents are gone: they would be spent on nothing. */
  #checkChildren(turn: Pick<Turn, 'pending' | 'answers'>): void {
    const { pending = [], answers = [] } = withKeptAnswers(turn)
    for (const { child, ...call } of pending) {
      if (!child) continue
      const given = answersTo(child.pending, toolCallOf(call), (id) => answers.find(({ callId }) => callId === id))
      if (given.length === 0) continue
      this.#agents.find(child.agent, '/')
      this.#checkChildren({ pending: child.pending, answers: given })
    }
  }

  /**
   * Opens a variant of an agent: the same with some values changed, under the same id and with a version of its own. It stays open
   * until it was unused for an hour, 200 others were used since, or another version of the agent is in service.
   *
   * @param name as {@link AgentHost.resolve} takes it
   * @throws AgentError `AGENT_INVALID` with everything that is wrong with the changes
   * @throws HostError `AGENT_NOT_FOUND`, `SHUTTING_DOWN`
   */
  async openVariant(
    name: string,
    changes: readonly VariantChange[],
    separator: NameSeparator = '/',
  ): Promise<AgentInfo> {
    requireGiven(CHANGES, changes, 'changes')
    return (await this.#openVariant(() => this.#find(name, separator).agent, changes)).info
  }

  /** Opens those of the agents that it calls, too, so that wrong values of theirs fail before a run begins. */
  async #openVariant(find: () => Agent, changes: readonly VariantChange[]): Promise<Agent> {
    const variant = await this.#versions.openVariant(find, changes)
    for (const id of new Set(changes.flatMap(({ agent }) => agent ?? []))) {
      const called = this.#agents.calledBy(find(), id)
      await this.#versions
        .openVariant(() => called, changesOfCalled(changes, id) ?? [])
        .catch((error) => {
          throw error instanceof AgentError ? withAgent(error, id) : error
        })
    }
    return variant
  }

  /**
   * Runs one turn of an agent to its end.
   *
   * @param name `<agent>` or `<agent>/<entry point>`
   * @param input the user's message, or the whole conversation ending with it
   * @throws HostError `AGENT_NOT_FOUND`, `AGENT_FAILED`, `RUN_ABORTED`, `OVERLOADED`, `SHUTTING_DOWN`
   */
  async run(name: string, input: string | Turn['messages'], options: RunOptions = {}): Promise<RunResult> {
    requireGiven(LOCAL_OPTIONS, options, 'options')
    const { signal, ...turn } = options
    const messages = typeof input === 'string' ? [{ role: 'user' as const, content: input }] : input
    if (turn.variant) await this.openVariant(name, turn.variant)
    const begun = this[VISITS].admitted(() => this.start(name, { ...turn, messages }))
    // Without limits no turn passes: a signal that is aborted already ends the run before any code of it.
    const result = await untilEnd(begun instanceof Promise ? await begun : begun, signal)
    if (result.status === 'waiting') {
      // As START_MADE has begun it.
      const { user = turn.user } = (!turn.answers && this[VISITS].current) || {}
      this.#onWaiting.tell(toResumableRun(name, result, { ...turn, user }))
    }
    return result
  }

  /**
   * Starts one turn of an agent and returns a handle on it. The name is resolved in the same step: a run never begins on
   * a version that was replaced.
   *
   * @param name as {@link AgentHost.resolve} takes it
   * @throws HostError `AGENT_NOT_FOUND`, `OVERLOADED`, `SHUTTING_DOWN`; `REQUEST_INVALID` for input that the agent does not accept
   */
  start(name: string, turn: Turn, separator: NameSeparator = '/'): RunHandle {
    requireGiven(TURN, turn, 'turn')
    return this[START_MADE](name, turn, separator)
  }

  /** @throws as {@link AgentHost.start} */
  [START_MADE](name: string, turn: Turn, separator: NameSeparator = '/'): RunHandle {
    const { agent, entryPoint } = this.#find(name, separator)
    const kind = turn.background ? 'background runs' : 'runs'
    const version = this.#versions.variantOf(agent, turn)
    const { user } = this[VISITS].current ?? {}
    // A run that goes on with answers keeps its user, no matter who answers.
    const own = user === undefined || turn.answers ? turn : { ...turn, user }
    return this.#begin(kind, (observer) => version.start(entryPoint, own, observer))
  }

  /**
   * Keeps a slot and the present version of an agent for a run that is about to be stored: then nothing refuses its start.
   *
   * @param name as {@link AgentHost.resolve} takes it
   * @param isBackground reserves a slot for background runs
   * @throws HostError `AGENT_NOT_FOUND`, `OVERLOADED`, `SHUTTING_DOWN`
   */
  reserve(name: string, isBackground: boolean, separator: NameSeparator = '/'): Reservation {
    const found = this.#find(name, separator)
    this.#agents.refuseWhenClosed()
    const slot = this.#running.reserve(isBackground ? 'background runs' : 'runs')
    return reserveAgent(found, slot, {
      quota: this.#takeQuota(slot),
      openVariant: (changes) => this.#openVariant(() => this.#find(name, separator).agent, changes),
      checkChildren: (turn) => this.#checkChildren(turn),
    })
  }

  /**
   * Calls one module of an agent, as a run of its own that is traced and counted like any other unless it is a look.
   *
   * @returns the result of `act`; undefined if the call waits for an approval
   * @throws HostError `AGENT_NOT_FOUND`, `REQUEST_INVALID` when the module does not provide the protocol, `AGENT_FAILED`
   */
  async callModule<T, R>(id: string, call: ModuleCall<T, R>): Promise<R | undefined> {
    requireGiven(MODULE_CALL, call, 'call')
    const visit = this[VISITS].current
    const agent = this.#agents.require(id, visit?.sees)
    const { moduleId, protocol, user = visit?.user, tenant, metadata, onQuestion, isLook } = call
    if (!agent.hasProvider(moduleId, protocol)) {
      throw badRequest(`Agent '${id}' has no module '${moduleId}' that provides ${protocol.name}.`)
    }
    let value: R | undefined
    const act = async (provider: T, run: Run) => {
      value = await call.act(provider, run)
    }
    const given = { moduleId, protocol, act, user, tenant, metadata, onQuestion, isLook }
    const begin = () => this.#begin(isLook ? 'looks' : 'runs', (observer) => agent.startCall(given, observer))
    await (isLook ? begin() : await this[VISITS].admitted(begin)).result
    return value
  }

  /** Aborts a run in progress. Returns false for an unknown id. */
  abort(runId: string, reason?: unknown): boolean {
    return this.#running.abort(runId, reason)
  }

  /** Aborts the runs in progress of a user of a tenant. Returns their ids. */
  abortAllOf(tenant: string, user: string, reason?: unknown): string[] {
    return this.#running.abortAllOf(tenant, user, reason)
  }

  /**
   * Calls `listener` for every call between modules, and for its end.
   *
   * @param prefix of the `event_name`s to receive; '' for all
   * @returns a function that ends it
   */
  onEvent(listener: AgentEventListener, prefix = ''): () => void {
    return this.#listeners.add(listener, prefix)
  }

  /**
   * Calls `listener` when an agent was registered, replaced or taken out of service. A listener that throws is reported.
   *
   * @returns a function that ends it
   */
  onChange(listener: () => void): () => void {
    return this.#onChange.add(listener)
  }

  /**
   * Calls `listener` once for every run that has ended. A listener that throws is reported.
   *
   * @returns a function that ends it
   */
  onRunEnd(listener: (end: RunEnd) => void): () => void {
    return this.#onRunEnd.add(listener)
  }

  /**
   * Calls `listener` with each run of {@link AgentHost.run} and {@link AgentHost.resume} that ends waiting. A listener that throws is
   * reported.
   *
   * @returns a function that ends it
   */
  onWaiting(listener: (waiting: ResumableRun) => void): () => void {
    return this.#onWaiting.add(listener)
  }

  /**
   * Continues a waiting run. Calls without an answer keep waiting, as a new run. The host remembers no run: the program that keeps
   * them resumes each once.
   *
   * @throws HostError `REQUEST_INVALID` for an answer that does not fit; and as {@link AgentHost.run}
   */
  async resume(
    waiting: ResumableRun,
    answers: readonly PendingAnswer[],
    options: ResumeOptions = {},
  ): Promise<RunResult> {
    requireGiven(RESUMABLE, waiting, 'waiting')
    requireGiven(LOCAL_OPTIONS, options, 'options')
    checkAnswers(waiting, answers)
    const { messages, ...turn } = toNextTurn(waiting, answers)
    return this.run(waiting.agent, messages, { ...turn, ...localOptions(options) })
  }

  /** Number of runs under way. A run that ignores its abort counts until its code ends. */
  get runningCount(): number {
    return this.#running.count
  }

  /** Number of background runs that could be started now. */
  get freeBackgroundSlots(): number {
    return this.#agents.isClosed ? 0 : this.#running.free('background runs')
  }

  /**
   * Takes no new runs, waits for those under way, aborts them at the deadline, and disposes every agent.
   *
   * @param drainTimeoutMs how long the runs may take
   */
  async close(drainTimeoutMs = 10_000): Promise<void> {
    this.#agents.close()
    await this.#running.drain(drainTimeoutMs)
    for (const agent of this.#agents.all) void this.#versions.retire(agent)
    this.#agents.clear()
    await this.#versions.settle()
  }

  /**
   * Returns the secret of a trigger of an agent in service.
   *
   * @internal
   */
  [SECRET_OF](agent: string, trigger: string): string | undefined {
    return this.#agents.get(agent)?.triggerSecrets.get(trigger)
  }

  /**
   * Warns of keys that triggers and schedules of agents in service name, and that are not in force.
   *
   * @param hasKey default: as the server knows its file of keys
   * @internal
   */
  [MISSING_KEYS](hasKey: Visits['hasKey'] = this[VISITS].hasKey): string[] {
    return this.#agents.all
      .flatMap(({ namedKeys }) => namedKeys)
      .filter(({ tenant, key }) => hasKey?.(tenant, key) === false)
      .map(({ problem }) => [formatProblem(problem), ...problem.suggestions].join(' '))
  }

  /**
   * Starts a run that replays another. It is traced and counted like any other.
   *
   * @param name as {@link AgentHost.resolve} takes it
   * @throws AgentError `AGENT_INVALID` when the agent cannot be planned; HostError as {@link AgentHost.start}
   * @internal
   */
  async [START_REPLAY](name: string, { replays, ...run }: ReplayingRun): Promise<RunHandle> {
    const { agent: base, entryPoint } = this.#find(name, '/')
    const blueprint = await run.plan(base.varied, this.#project)
    const boundaries = run.bound(this.#boundaries)
    const agent = await this.#versions.open(blueprint, undefined, { boundaries, replays })
    try {
      const turn = run.turn(agent.info.version)
      return await this[VISITS].admitted(() =>
        this.#begin('runs', (observer) => agent.start(entryPoint, turn, observer)),
      )
    } finally {
      // Once the run has ended.
      void this.#versions.retire(agent)
    }
  }

  #begin(kind: RunKind, start: (observer: RunObserver) => RunHandle): RunHandle {
    this.#agents.refuseWhenClosed()
    const quota = kind === 'looks' ? undefined : this[VISITS].current?.ticket?.take()
    try {
      return this.#running.begin(kind, start, quota)
    } catch (error) {
      quota?.giveBack()
      throw error
    }
  }

  #takeQuota(slot: Slot): RunQuota | undefined {
    try {
      return this[VISITS].current?.ticket?.take()
    } catch (error) {
      slot.release()
      throw error
    }
  }

  get #surroundings(): AgentSurroundings {
    return {
      events: this.#listeners,
      log: this.#log,
      boundaries: this.#boundaries,
      valueOf: (id, place) => this.#agents.get(id)?.valueOf(place),
      startChild: (name, turn, parent) => {
        const { agent, entryPoint } = this.#agents.find(name, '/')
        const variant = turn.variant && changesOfCalled(turn.variant, agent.info.id)
        const begin = (version: Agent, own: Turn) =>
          this.#running.beginChild((observer) => version.start(entryPoint, own, observer, parent))
        if (!variant) return begin(agent, turn)
        return this.#versions.openVariant(() => agent, variant).then((version) => begin(version, { ...turn, variant }))
      },
    }
  }
}

function withAgent({ problems }: AgentError, agent: string): AgentError {
  return new AgentError(
    'AGENT_INVALID',
    problems.map((problem) => ({ ...problem, agent })),
  )
}
