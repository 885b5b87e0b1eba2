import type { CallingAgent } from '../called-agents.ts'
import type { ExchangeRow, ModuleSummary } from '../graph/graph-layout.ts'
import { PROBLEM_FIELDS, type Problem } from '../types.ts'

export interface Tool {
  readonly name: string
  readonly description: string
  readonly parameters: unknown
  /** Its server describes it otherwise than at first. */
  readonly is_changed: boolean
  /** Calls that wait for a person: all, some, or none where it is null. */
  readonly approval: 'always' | 'sometimes' | null
}

export interface ModuleDetails extends ModuleSummary {
  readonly module_class: string
  readonly description: string
  readonly config: unknown
  readonly provides: readonly string[]
  readonly uses: readonly string[]
  readonly scope: string
  readonly tools: readonly Tool[] | null
}

/** Outcome of one load of the agent's file. */
export interface Load {
  readonly time: number
  readonly file: string
  readonly kind: string
  readonly problems: readonly Problem[]
  /** Null for a file that was not put into service. */
  readonly version: string | null
  readonly definition: string | null
}

export interface AgentDetails {
  readonly id: string
  readonly title: string | null
  readonly description: string
  readonly file: string | null
  readonly entry_points: readonly string[]
  readonly attachments: readonly string[]
  readonly definition: string | null
  readonly modules: readonly ModuleDetails[]
  readonly exchange: readonly ExchangeRow[]
  readonly loads: readonly Load[]
  /** Agents that its modules can call. */
  readonly calls: CallingAgent['calls']
  readonly schedules: readonly { readonly id: string }[]
}

export const AGENT_QUERY = `query($id: String!) { agent_config(agent_id: $id) {
  id title description file entry_points attachments definition
  modules { id module module_class description source scope config provides uses tools { name description parameters is_changed approval } }
  exchange { module protocol provider fieldName } calls { module agent } schedules { id }
  loads { time file kind version definition problems { ${PROBLEM_FIELDS} } }
} }`
