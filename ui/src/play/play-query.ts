import { useQuery } from '../api.ts'
import { type CallingAgent, calledBy } from '../called-agents.ts'
import type { Schema } from '../components/schema-fields.tsx'
import { useLive } from '../live.ts'

/** Fields of a tool that a suggested question needs. */
export interface ToolChoice {
  readonly name: string
  readonly description: string
  readonly parameters: {
    readonly properties?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
    readonly required?: readonly string[]
  } | null
}

/** Value of a module that can be varied. */
export interface Variable {
  readonly path: readonly (string | number)[]
  readonly schema: Schema
  /** Null where it is left out. */
  readonly value: unknown
}

/** Agent that can be asked. */
export interface AgentChoice {
  readonly id: string
  readonly description: string
  readonly examples: readonly string[]
  readonly entry_points: readonly string[]
  readonly version: string
  /** Relative to the project; null for an agent that was registered by a program. */
  readonly file: string | null
  /** Text of its file. */
  readonly definition: string | null
  readonly attachments: readonly string[]
  readonly modules: readonly {
    readonly id: string
    readonly provides: readonly string[] | null
    readonly tools: readonly ToolChoice[] | null
    readonly variables: readonly Variable[]
  }[]
}

const LIST_QUERY = '{ list_agents { id entry_points calls { module agent } } }'
const AGENT_QUERY = `query($id: String!) { agent_config(agent_id: $id) {
  id description examples entry_points version file definition attachments modules { id provides tools { name description parameters } variables { path schema value } }
} }`

export type AgentName = Pick<AgentChoice, 'id' | 'entry_points'> & CallingAgent

export function useAgentNames(): readonly AgentName[] | undefined {
  const { data, reload } = useQuery<{ list_agents: AgentName[] }>(LIST_QUERY)
  useLive('agents', reload)
  return data?.list_agents
}

/** Reads one agent; undefined until it is known. */
export function useAgentChoice(id: string): AgentChoice | undefined {
  const { data, reload } = useQuery<{ agent_config: AgentChoice }>(AGENT_QUERY, { id })
  useLive('agents', reload)
  return data?.agent_config.id === id ? data.agent_config : undefined
}

/** Agent that another calls, with the values that can be varied. */
export type CalledAgent = Pick<AgentChoice, 'id' | 'version' | 'file' | 'modules'>

/** The server limits the aliases of a query. */
const MAX_CALLED = 30

/** Reads the agents that one calls, itself or through others. */
export function useCalledAgents(id: string): readonly CalledAgent[] {
  const ids = calledBy(id, useAgentNames() ?? []).slice(0, MAX_CALLED)
  const names = ids.map((_, index) => `$a${index}: String!`).join(', ')
  const fields = ids.map(
    (_, index) =>
      `a${index}: agent_config(agent_id: $a${index}) { id version file modules { id provides tools { name description parameters } variables { path schema value } } }`,
  )
  const query = ids.length === 0 ? '{ __typename }' : `query(${names}) { ${fields.join(' ')} }`
  const variables = Object.fromEntries(ids.map((called, index) => [`a${index}`, called]))
  const { data, reload } = useQuery<Readonly<Record<string, CalledAgent>>>(query, variables)
  useLive('agents', reload)
  return ids.flatMap((called, index) => {
    const agent = data?.[`a${index}`]
    return agent?.id === called ? [agent] : []
  })
}
