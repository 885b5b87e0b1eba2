import { didYouMean } from '../definition/nearest-name.ts'
import { AgentError, type Problem } from '../definition/problem.ts'
import { HostError } from '../errors.ts'
import { requireGiven, TEXT } from '../given.ts'
import type { CallableAgent } from '../protocols/callable-agent.ts'
import type { Agent } from '../run/agent/agent.ts'
import type { AgentBlueprint } from '../wiring/plan-agent.ts'
import { ENTRY } from '../wiring/wiring.ts'
import {
  type AgentCalls,
  findCalled,
  findCircle,
  findUnknownNames,
  listCallable,
  listCalls,
  placeOfCall,
} from './called-agents.ts'
import type { Sees } from './visits.ts'

/** Separator between an agent and its entry point in a name. */
export type NameSeparator = '/' | '.'

/** Agent and one of its entry points. */
export interface FoundAgent {
  readonly agent: Agent
  readonly entryPoint: string
}

/** Agents in service by id, in the order of their registration. Ids are unique, and agents do not call each other in a circle. */
export class RegisteredAgents {
  readonly #byId = new Map<string, Agent>()
  /** Agents as others call them, until they change. */
  #callable: readonly CallableAgent[] | undefined
  #isClosed = false

  /** True once nothing new is taken: every name is refused with `SHUTTING_DOWN` then, as are further agents. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  close(): void {
    this.#isClosed = true
  }

  get all(): Agent[] {
    return [...this.#byId.values()]
  }

  /** @param sees left out: every agent exists */
  get(id: string, sees?: Sees): Agent | undefined {
    const agent = this.#byId.get(id)
    return agent && sees && !sees(id) ? undefined : agent
  }

  /** @throws HostError `AGENT_NOT_FOUND` */
  require(id: string, sees?: Sees): Agent {
    const agent = this.get(id, sees)
    if (agent) return agent
    requireGiven(TEXT, id, 'The id of the agent')
    throw this.#notFound(id, sees)
  }

  /**
   * Finds the agent that a name means: `<agent>`, or `<agent><separator><entry point>`. An exact id wins over a composed name, since ids
   * may hold dots.
   *
   * @throws HostError `AGENT_NOT_FOUND`
   */
  find(name: string, separator: NameSeparator, sees?: Sees): FoundAgent {
    const exact = this.#byId.get(name)
    if (exact && (!sees || sees(name))) return { agent: exact, entryPoint: ENTRY }
    requireGiven(TEXT, name, 'The name of the agent')
    const cut = name.lastIndexOf(separator)
    const agent = cut > 0 ? this.get(name.slice(0, cut), sees) : undefined
    const entryPoint = name.slice(cut + 1)
    if (!agent?.hasEntryPoint(entryPoint)) throw this.#notFound(name, sees)
    return { agent, entryPoint }
  }

  /**
   * Puts an agent into service, in the place of another where that is named.
   *
   * @returns the replaced agent
   * @throws AgentError `AGENT_INVALID` for a circle, `AGENT_DUPLICATE`
   * @throws HostError `AGENT_NOT_FOUND` for an agent to replace that is gone, `SHUTTING_DOWN`
   */
  put(agent: Agent, blueprint: AgentBlueprint, replacedId?: string): Agent | undefined {
    const { id } = agent.info
    const old = replacedId === undefined ? undefined : this.require(replacedId)
    if (id !== replacedId) this.refuseDuplicate(blueprint)
    this.refuseWhenClosed()
    this.#refuseCircle(agent, blueprint)
    if (replacedId !== undefined && replacedId !== id) this.#byId.delete(replacedId)
    this.#byId.set(id, agent)
    this.#callable = undefined
    return old
  }

  /** @throws HostError `AGENT_NOT_FOUND` */
  remove(id: string): Agent {
    const agent = this.require(id)
    this.#byId.delete(id)
    this.#callable = undefined
    return agent
  }

  clear(): void {
    this.#byId.clear()
    this.#callable = undefined
  }

  /** Lists the agents as others call them. */
  listCallable(): readonly CallableAgent[] {
    this.#callable ??= listCallable(this.all.map(({ info }) => info))
    return this.#callable
  }

  /** Returns the agents that consist of any of these files (absolute paths). */
  using(files: ReadonlySet<string>): Agent[] {
    return this.all.filter((agent) => [...agent.files].some((file) => files.has(file)))
  }

  /** Calls of an agent to others in service: of which module, and of which agent. */
  callsOf(agent: Agent): AgentCalls[] {
    return listCalls(agent, this.#byId)
  }

  /**
   * Returns an agent that another one calls, itself or through others.
   *
   * @throws AgentError `AGENT_INVALID` for any other
   */
  calledBy(caller: Agent, id: string): Agent {
    const called = findCalled(caller, this.#byId)
    const agent = called.has(id) ? this.#byId.get(id) : undefined
    if (agent) return agent
    const message = `agent '${caller.info.id}' does not call an agent '${id}'.`
    const suggestions = called.size === 0 ? ['It calls none.'] : [`It calls: ${[...called].join(', ')}.`]
    throw new AgentError('AGENT_INVALID', [{ message, suggestions }])
  }

  /** Problems of names that agents call, and that there are none of at this moment. */
  problems(): Problem[] {
    const callers = this.all.filter(({ calls }) => calls.size > 0)
    return callers.length === 0 ? [] : findUnknownNames(callers, this.listCallable())
  }

  /** @throws AgentError `AGENT_DUPLICATE` */
  refuseDuplicate({ source }: AgentBlueprint): void {
    const { definition, problemAt } = source
    const taken = this.#byId.get(definition.id)
    if (!taken) return
    const owner = taken.info.file ? `the agent in ${taken.info.file}` : 'another agent'
    const message = `The id '${definition.id}' is taken by ${owner}.`
    throw new AgentError('AGENT_DUPLICATE', [problemAt(['id'], message, ['Give one of the two another id.'])])
  }

  /** @throws HostError `SHUTTING_DOWN` */
  refuseWhenClosed(): void {
    if (this.#isClosed) throw shuttingDown()
  }

  /** Agents that call each other in a circle would call each other for ever. */
  #refuseCircle(agent: Agent, { source }: AgentBlueprint): void {
    if (agent.calls.size === 0) return
    const circle = findCircle(agent, new Map(this.#byId).set(agent.info.id, agent))
    if (!circle) return
    const message = `Agents call each other in a circle: ${circle.join(' → ')}.`
    const advice = 'Take one of them out of `agents` of a module tools/agents.'
    const problem = { ...source.problemAt(['modules'], message, [advice]), ...placeOfCall(agent, circle[1] ?? '') }
    throw new AgentError('AGENT_INVALID', [problem], { files: agent.files, callsAgents: true })
  }

  /** A host that is closed has no agents any more: that must not be taken for a wrong name. */
  #notFound(name: string, sees?: Sees): HostError {
    if (this.#isClosed) return shuttingDown()
    const names = this.listCallable().map((agent) => agent.name)
    const suggestions = didYouMean(name, sees ? names.filter(sees) : names)
    return new HostError('AGENT_NOT_FOUND', `There is no agent '${name}'.`, { suggestions })
  }
}

function shuttingDown(): HostError {
  return new HostError('SHUTTING_DOWN', 'The server shuts down.')
}
