import { useQuery } from '../api.ts'
import type { Schema } from '../components/schema-fields.tsx'
import { useLive } from '../live.ts'

/** Fields of a tool that a suggested question needs. */
export interface ToolChoice {
  readonly name: string
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

const LIST_QUERY = '{ list_agents { id entry_points } }'
const AGENT_QUERY = `query($id: String!) { agent_config(agent_id: $id) {
  id description examples entry_points version file definition attachments modules { id provides tools { name parameters } variables { path schema value } }
} }`

export type AgentName = Pick<AgentChoice, 'id' | 'entry_points'>

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
