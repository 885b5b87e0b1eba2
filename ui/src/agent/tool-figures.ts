import { useState } from 'preact/hooks'
import { useQuery } from '../api.ts'
import { NUMBER_FIELDS, type Numbers } from '../types.ts'

const DAYS = 7
const QUERY = `query($since: Float, $id: String) { metrics(since: $since, points: 1, agent_id: $id) {
  tools { tool_name numbers { ${NUMBER_FIELDS} } }
} }`

interface Answer {
  readonly metrics: { readonly tools: readonly { readonly tool_name: string; readonly numbers: Numbers }[] }
}

/** Reads the figures of an agent's tools in the last seven days, by name. */
export function useToolFigures(agentId: string): ReadonlyMap<string, Numbers> {
  const [since] = useState(() => Math.floor(Date.now() / 1000) - DAYS * 86_400)
  const { data } = useQuery<Answer>(QUERY, { since, id: agentId })
  return new Map(data?.metrics.tools.map(({ tool_name, numbers }) => [tool_name, numbers]))
}
