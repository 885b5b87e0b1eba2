import type { AgentHost } from 'agent-host'

/** Facts about an agent for the events of its runs. */
export interface AgentFacts {
  /** Module that provides `AgentState`. */
  readonly stateModule: string | undefined
  /** Returns the name of the agent that a call of a module begins; undefined for any other. */
  readonly calledAgent: (moduleId: string, tool: string) => string | undefined
}

/** Reads the facts of agents, once for each version of the agents in service. */
export class KnownAgents {
  readonly #host: AgentHost
  readonly #facts = new Map<string, AgentFacts>()

  constructor(host: AgentHost) {
    this.#host = host
    host.onChange(() => this.#facts.clear())
  }

  /** @param id of the agent */
  factsOf(id: string): AgentFacts {
    const known = this.#facts.get(id) ?? this.#read(id)
    this.#facts.set(id, known)
    return known
  }

  #read(id: string): AgentFacts {
    const provider = this.#host.describe(id)?.modules.find(({ provides }) => provides.includes('AgentState'))
    const calls = this.#host.callsOf(id)
    return {
      stateModule: provider?.id,
      calledAgent: (moduleId, tool) => {
        const called = calls.filter(({ module }) => module === moduleId).map(({ agent }) => agent)
        // A tool has the name of its agent, behind the prefix of its module, in the characters that models allow.
        return called.find((agent) => tool.endsWith(agent.replaceAll(/[^A-Za-z0-9_-]/g, '_'))) ?? called[0]
      },
    }
  }
}
