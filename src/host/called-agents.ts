import { type CallableAgent, isCalled } from '../protocols/callable-agent.ts'
import type { AgentInfo } from '../run/turn.ts'

/** Agent with the globs of those that it calls. */
export interface CallingAgent {
  readonly info: Pick<AgentInfo, 'id'>
  readonly calls: ReadonlySet<string>
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

/** A pattern does not mean the agent itself; its name does. */
function calledBy({ info, calls }: CallingAgent, agents: ReadonlyMap<string, CallingAgent>): CallingAgent[] {
  const globs = [...calls].map((call) => call.split('/')[0] ?? call)
  return [...agents.values()].filter(({ info: { id } }) => {
    return id === info.id ? globs.includes(id) : isCalled({ name: id }, globs)
  })
}
