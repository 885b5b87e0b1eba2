/** Agent with the agents that its modules can call. */
export interface CallingAgent {
  readonly id: string
  readonly calls: readonly { readonly module: string; readonly agent: string }[]
}

/** Ids of the agents that one calls, itself or through others, the nearest first. */
export function calledBy(id: string, agents: readonly CallingAgent[]): readonly string[] {
  const found = new Set<string>()
  const rest = [id]
  for (let caller = rest.shift(); caller !== undefined; caller = rest.shift()) {
    for (const { agent } of agents.find((each) => each.id === caller)?.calls ?? []) {
      if (found.has(agent) || agent === id) continue
      found.add(agent)
      rest.push(agent)
    }
  }
  return [...found]
}

/** Returns the agent to begin with: one that people ask, not one that others call. */
export function firstToAsk<Agent extends CallingAgent>(agents: readonly Agent[]): Agent | undefined {
  const called = new Set(agents.flatMap(({ calls }) => calls.map(({ agent }) => agent)))
  const asked = agents.filter(({ id }) => !called.has(id))
  return asked.find(({ calls }) => calls.length > 0) ?? asked[0] ?? agents[0]
}
