import type { ToolMetadata } from '../definition/definition.ts'
import { AgentError } from '../definition/problem.ts'
import { HostError, messageOf } from '../errors.ts'
import type { ModuleSource } from '../module/load-module.ts'
import type { Log } from '../protocols/log.ts'
import type { Attachment, Message } from '../protocols/message.ts'
import { TextMessageHandler } from '../protocols/message-handlers.ts'
import type { Usage } from '../protocols/run.ts'
import { type AgentDescription, type DescribedAgent, describeAgent } from '../wiring/describe-agent.ts'
import { type AgentBlueprint, explainFailure } from '../wiring/plan-agent.ts'
import { ENTRY, type EntryPoint, type WiredModule } from '../wiring/wiring.ts'
import { AgentRun } from './agent-run.ts'
import type { AgentEventListener, EventListeners, EventSink } from './call-event.ts'
import { Exchange, nameCallees } from './exchange.ts'
import type { Callee, Recorder } from './facade.ts'
import { type PartSink, RunConversation, RunResponse } from './run-providers.ts'

/** One turn of a conversation with an agent. */
export interface Turn {
  /** Of the run, a UUID; a new one when left out. */
  readonly runId?: string | undefined
  /** Oldest first; the last message of the user is the one that is handled. */
  readonly messages: readonly Message[]
  readonly instructions?: string | undefined
  readonly user?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  /** What the agent was given instead of a message, by its own `input` schema. */
  readonly input?: Readonly<Record<string, unknown>> | undefined
  /** Takes the answer as it comes; never called before the run was handed out. */
  readonly onPart?: PartSink | undefined
  /** Hears of every call between modules in this run, beside the listeners of the host. */
  readonly onEvent?: AgentEventListener | undefined
  /** Hears what the agent's work is at. */
  readonly onProgress?: ((message: string) => void) | undefined
  /**
   * Instances to take for this run instead of the agent's own, by module id; `__response__` and `__conversation__` too.
   * The links among agent-scoped modules stay as they are.
   */
  readonly overrides?: Readonly<Record<string, object>> | undefined
}

/** How a run ended well. */
export interface RunResult {
  readonly runId: string
  readonly text: string
  readonly attachments: readonly Attachment[]
  readonly usage: Readonly<Usage>
  /** Why the agent stopped before its answer was complete; undefined when it is. */
  readonly incompleteReason: string | undefined
}

/** A run under way. */
export interface RunHandle {
  readonly id: string
  /**
   * Fulfilled when the run has ended, what it made is disposed, and all parts are given out.
   *
   * @throws HostError `AGENT_FAILED` (`cause` is what the agent threw), `RUN_ABORTED`
   */
  readonly result: Promise<RunResult>
  /** Ends the run early: its signal aborts, and `result` fails at once, whatever the agent does. */
  abort(reason?: unknown): void
}

/** What is told of a run that has ended. */
export interface RunEnd {
  readonly runId: string
  readonly agentId: string
  readonly entryPoint: string
  /** Unix time in seconds, with fractions. */
  readonly startedAt: number
  readonly durationMs: number
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly usage: Readonly<Usage>
}

/** What is told of an agent. Frozen. */
export interface AgentInfo extends ToolMetadata {
  readonly id: string
  readonly description: string
  /** Beside the agent itself; empty when there is only one. */
  readonly entryPoints: readonly string[]
  /** Relative to the project; absent for an agent that was registered by a program. */
  readonly file?: string
  readonly modules: readonly ModuleInfo[]
}

export interface ModuleInfo {
  readonly id: string
  /** The module reference. */
  readonly module: string
  readonly source: ModuleSource
  readonly scope: 'instance' | 'agent'
}

/** One version of an agent: opened when it is registered, closed when the last run that uses it has ended. */
export class Agent {
  readonly info: AgentInfo
  /** The project's files that it consists of (absolute paths). */
  readonly files: ReadonlySet<string>
  readonly #entryPoints: ReadonlyMap<string, EntryPoint>
  readonly #modules: readonly WiredModule[]
  /** What a run has to make, by entry point. */
  readonly #needed: ReadonlyMap<string, readonly WiredModule[]>
  readonly #callees: ReadonlyMap<string, Callee>
  readonly #described: DescribedAgent
  readonly #shared: Exchange
  readonly #events: EventListeners
  readonly #log: Log
  #runs = 0
  #onIdle: (() => void) | undefined

  private constructor(blueprint: AgentBlueprint, shared: Exchange, events: EventListeners, log: Log) {
    this.info = informOf(blueprint)
    const { source, modules, loaded, entryPoints } = blueprint
    this.#described = { definition: source.definition, modules, loaded, entryPoints }
    this.files = blueprint.files
    this.#entryPoints = blueprint.entryPoints
    this.#modules = blueprint.modules
    this.#needed = new Map(
      [...blueprint.entryPoints].map(([name, entry]) => [name, reachableModules(entry, blueprint.modules)]),
    )
    this.#callees = nameCallees(blueprint.modules)
    this.#shared = shared
    this.#events = events
    this.#log = log
  }

  /**
   * Makes the agent-scoped modules.
   *
   * @throws AgentError `AGENT_INVALID` naming the module that cannot be made; those made before are disposed
   */
  static async open(blueprint: AgentBlueprint, events: EventListeners, log: Log): Promise<Agent> {
    const { definition, problemAt } = blueprint.source
    const recorder = makeRecorder(definition.id, undefined, events)
    const shared = new Exchange({ callees: nameCallees(blueprint.modules), recorder })
    for (const module of blueprint.modules.filter(({ scope }) => scope === 'agent')) {
      try {
        await shared.open([module])
      } catch (cause) {
        await shared.close((message) => log.warn(`${definition.id}: ${message}`))
        const index = definition.modules.findIndex(({ id }) => id === module.id)
        const subject = `module '${module.id}' (${module.reference}) cannot be made`
        const problem = explainFailure(problemAt, ['modules', index], subject, cause)
        throw new AgentError('AGENT_INVALID', [problem], { files: blueprint.files, cause })
      }
    }
    return new Agent(blueprint, shared, events, log)
  }

  /** Its modules with what they are configured with, and the whole wiring. */
  describe(): AgentDescription {
    return describeAgent(this.#described)
  }

  hasEntryPoint(name: string): boolean {
    return this.#entryPoints.has(name)
  }

  /**
   * Runs one turn. Never throws: what goes wrong is in the handle's `result`. No code of the agent runs before this has
   * returned.
   *
   * @param observer told once when the result is settled, and once when no code of the run is left
   */
  start(entryPoint: string, turn: Turn, observer: RunObserver): RunHandle {
    const run = new AgentRun(this.info.id, {
      id: turn.runId,
      entryPoint,
      instructions: turn.instructions,
      user: turn.user,
      metadata: turn.metadata,
      input: turn.input,
      onProgress: turn.onProgress,
    })
    const handle = new StartedRun(run, observer)
    void this.#runTurn(run, turn, handle)
    return handle
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

  /** Settles the handle, whatever happens. */
  async #runTurn(run: AgentRun, turn: Turn, handle: StartedRun): Promise<void> {
    const response = new RunResponse(run, turn.onPart)
    const events = turn.onEvent ? this.#events.and(turn.onEvent) : this.#events
    const exchange = new Exchange({
      callees: this.#callees,
      shared: this.#shared,
      response,
      conversation: new RunConversation(turn.messages),
      overrides: turn.overrides,
      recorder: events.isEmpty ? undefined : makeRecorder(run.agentId, run, events),
    })
    this.#runs++
    try {
      await undefined
      run.throwIfAborted()
      const opening = exchange.open(this.#reachableModules(run.entryPoint, turn.overrides))
      if (opening) {
        await opening
        run.throwIfAborted()
      }
      await this.#handlerIn(exchange, run).handleText(textToHandle(turn.messages), run)
      // Before the answer is closed: a module may hold something back until then.
      if (exchange.needsClosing) await this.#dispose(exchange)
      run.throwIfAborted()
      const { text, attachments } = response.getResponse()
      const { id: runId, usage, incompleteReason } = run
      handle.succeed({ runId, text, attachments, usage, incompleteReason })
    } catch (cause) {
      if (exchange.needsClosing) await this.#dispose(exchange)
      const isOurs = cause instanceof HostError && (cause.code === 'RUN_ABORTED' || cause.code === 'REQUEST_INVALID')
      handle.fail(isOurs ? cause : new HostError('AGENT_FAILED', messageOf(cause), { cause }))
    } finally {
      response.close()
      if (--this.#runs === 0) this.#onIdle?.()
      handle.finish()
    }
  }

  #handlerIn(exchange: Exchange, run: AgentRun): TextMessageHandler {
    const entryPoint = this.#entryPoints.get(run.entryPoint) as EntryPoint
    const handler = exchange.handlerOf(entryPoint, TextMessageHandler, run.agentId)
    if (handler) return handler
    const message = `The entry point '${run.entryPoint}' of agent '${run.agentId}' takes no text.`
    throw new HostError('AGENT_FAILED', message, {
      suggestions: ['Give it a module that provides TextMessageHandler.'],
    })
  }

  #reachableModules(entryPoint: string, overrides: Turn['overrides']): readonly WiredModule[] {
    if (!overrides) return this.#needed.get(entryPoint) ?? []
    const known = [...this.#callees.keys()]
    const unknownName = Object.keys(overrides).find((id) => !known.includes(id))
    if (unknownName !== undefined) {
      throw new HostError('REQUEST_INVALID', `Agent '${this.info.id}' has no module '${unknownName}' to override.`, {
        suggestions: [`Its modules: ${known.join(', ')}.`],
      })
    }
    const entry = this.#entryPoints.get(entryPoint) as EntryPoint
    return reachableModules(entry, this.#modules, new Set(Object.keys(overrides)))
  }

  #dispose(exchange: Exchange): Promise<void> {
    return exchange.close((message) => this.#log.warn(`${this.info.id}: ${message}`))
  }
}

/** Hears of the end of a run. */
export interface RunObserver {
  /** The result is settled, by the agent or by an abort. */
  onSettled(handle: RunHandle, describe: () => RunEnd): void
  /** The agent's code has ended; after an abort that may be much later than the result. */
  onFinished(): void
}

/** A run that was started, as whoever started it holds it. What comes after the first outcome is without effect. */
class StartedRun implements RunHandle {
  readonly id: string
  readonly result: Promise<RunResult>
  readonly #run: AgentRun
  readonly #observer: RunObserver
  readonly #startedMs = performance.now()
  #isSettled = false
  #resolve: (result: RunResult) => void = unset
  #reject: (error: unknown) => void = unset

  constructor(run: AgentRun, observer: RunObserver) {
    this.id = run.id
    this.#run = run
    this.#observer = observer
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // A result that nobody awaits must not end the process as an unhandled rejection.
    this.result.catch(unset)
  }

  succeed(result: RunResult): void {
    this.#resolve(result)
    this.#end('completed')
  }

  fail(error: unknown): void {
    this.#reject(error)
    this.#end(error instanceof HostError && error.code === 'RUN_ABORTED' ? 'cancelled' : 'failed')
  }

  abort(reason?: unknown): void {
    const error = new HostError('RUN_ABORTED', `The run of agent '${this.#run.agentId}' was aborted.`, {
      cause: reason,
    })
    this.#run.abort(error)
    this.fail(error)
  }

  finish(): void {
    this.#observer.onFinished()
  }

  #end(status: RunEnd['status']): void {
    if (this.#isSettled) return
    this.#isSettled = true
    const durationMs = performance.now() - this.#startedMs
    this.#observer.onSettled(this, () => ({
      runId: this.id,
      agentId: this.#run.agentId,
      entryPoint: this.#run.entryPoint,
      startedAt: (performance.timeOrigin + this.#startedMs) / 1000,
      durationMs,
      status,
      usage: this.#run.usage,
    }))
  }
}

function unset(): void {}

function informOf({ source, modules, loaded, entryPoints }: AgentBlueprint): AgentInfo {
  const { definition, file } = source
  const byId = new Map(modules.map((module) => [module.id, module]))
  return Object.freeze({
    id: definition.id,
    description: definition.description,
    ...definition.toolMetadata,
    entryPoints: Object.freeze([...entryPoints.keys()].filter((name) => name !== ENTRY)),
    ...(file === undefined ? {} : { file }),
    modules: definition.modules.map(({ id, module }) =>
      Object.freeze({
        id,
        module,
        source: loaded.get(id)?.source ?? 'library',
        scope: byId.get(id)?.scope ?? 'instance',
      }),
    ),
  })
}

/** The instance-scoped modules that an entry point leads to, in the order in which they can be made. */
function reachableModules(
  { handlers }: EntryPoint,
  modules: readonly WiredModule[],
  overridden: ReadonlySet<string> = new Set(),
): readonly WiredModule[] {
  const reached = new Set(Object.values(handlers))
  // Backwards through the order: whoever depends on a module comes after it.
  for (const { id, links } of [...modules].reverse()) {
    if (!reached.has(id) || overridden.has(id)) continue
    for (const provider of links.flatMap(({ providers }) => providers)) reached.add(provider)
  }
  return modules.filter(({ id, scope }) => scope === 'instance' && reached.has(id) && !overridden.has(id))
}

function makeRecorder(agentId: string, run: AgentRun | undefined, events: EventSink): Recorder {
  let calls = 0
  const prefix = run?.id ?? agentId
  return { agentId, run, events, nextCallId: () => `${prefix}.${++calls}` }
}

function textToHandle(messages: readonly Message[]): string {
  return messages.findLast(({ role }) => role === 'user')?.content ?? ''
}
