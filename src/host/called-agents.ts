import { didYouMean } from '../definition/nearest-name.ts'
import type { Problem } from '../definition/problem.ts'
import { type CallableAgent, isCalled, isGlob } from '../protocols/callable-agent.ts'
import type { AgentInfo } from '../run/agent/agent-info.ts'
import type { CalledName } from '../wiring/plan-agent.ts'

/** Agent with the names and globs of those that it calls. */
export interface CallingAgent {
  readonly info: Pick<AgentInfo, 'id'>
  readonly calls: ReadonlyMap<string, CalledName>
}

/** Lists agents with their entry points, as other agents call them. */
export function listCallable(agents: readonly AgentInfo[]): CallableAgent[] {
  return agents.flatMap(({ id, description, input, entryPoints }) => {
    const described = { description, ...(input ? { input } : {}) }
    return [id, ...entryPoints.map((entryPoint) => `${id}/${entryPoint}`)].map((name) => ({ name, ...described }))
  })
}

/**
 * Finds agents that call each other in a circle, beginning with this one.
 *
 * @returns their ids, the first also at the end; undefined without a circle
 */
export function findCircle(start: CallingAgent, agents: ReadonlyMap<string, CallingAgent>): string[] | undefined {
  const first = start.info.id
  const seen = new Set<string>()
  const visit = (agent: CallingAgent, path: readonly string[]): string[] | undefined => {
    for (const called of calledBy(agent, agents)) {
      if (called.info.id === first) return [...path, first]
      if (seen.has(called.info.id)) continue
      seen.add(called.info.id)
      const circle = visit(called, [...path, called.info.id])
      if (circle) return circle
    }
    return undefined
  }
  return visit(start, [first])
}

/** Ids of the agents that an agent calls, itself or through others. */
export function findCalled(start: CallingAgent, agents: ReadonlyMap<string, CallingAgent>): Set<string> {
  const found = new Set<string>()
  const rest = calledBy(start, agents)
  for (let agent = rest.pop(); agent; agent = rest.pop()) {
    if (found.has(agent.info.id)) continue
    found.add(agent.info.id)
    rest.push(...calledBy(agent, agents))
  }
  return found
}

/** An agent that a module can call. */
export interface AgentCalls {
  readonly module: string
  readonly agent: string
}

/** Agents in service that the modules of an agent can call. */
export function listCalls(caller: CallingAgent, agents: ReadonlyMap<string, CallingAgent>): AgentCalls[] {
  return [...caller.calls].flatMap(([name, { module }]) =>
    calledBy({ ...caller, calls: new Map([[name, { module, caller: '' }]]) }, agents).map(({ info: { id } }) => ({
      module,
      agent: id,
    })),
  )
}

/** A pattern does not mean the agent itself; its name does. */
function calledBy({ info, calls }: CallingAgent, agents: ReadonlyMap<string, CallingAgent>): CallingAgent[] {
  const globs = [...calls.keys()].map((call) => call.split('/')[0] ?? call)
  return [...agents.values()].filter(({ info: { id } }) => {
    return id === info.id ? globs.includes(id) : isCalled({ name: id }, globs)
  })
}

/** Problems of the names that mean no agent at this moment. */
export function findUnknownNames(agents: readonly CallingAgent[], callable: readonly CallableAgent[]): Problem[] {
  return agents.flatMap(({ info, calls }) => {
    const others = callable.filter(({ name }) => name !== info.id && !name.startsWith(`${info.id}/`))
    return [...calls].flatMap(([name, { caller, ...place }]): Problem[] => {
      if (isGlob(name) || callable.some((agent) => isCalled(agent, [name]))) return []
      const message = `${caller}: there is no agent '${name}': it is not offered as a tool.`
      const names = others.map((agent) => agent.name)
      return [{ ...place, message, suggestions: didYouMean(name, names) }]
    })
  })
}

/** Place at which an agent calls the next one of a circle. */
export function placeOfCall({ calls }: CallingAgent, called: string): Omit<CalledName, 'caller'> | undefined {
  const found = [...calls].find(([name]) => isCalled({ name: called }, [name.split('/')[0] ?? name]))
  if (!found) return undefined
  const { caller: _, ...place } = found[1]
  return place
}
