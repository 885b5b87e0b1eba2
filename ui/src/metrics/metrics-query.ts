import { useState } from 'preact/hooks'
import { useQuery } from '../api.ts'
import { useLive, useThrottled } from '../live.ts'
import { NUMBER_FIELDS, type Numbers } from '../types.ts'

/** Ranges of time by the name that the address gives them. */
export const RANGES: Readonly<Record<string, { title: string; seconds: number }>> = {
  '15m': { title: '15 min', seconds: 900 },
  '1h': { title: '1 h', seconds: 3600 },
  '24h': { title: '24 h', seconds: 86_400 },
  '7d': { title: '7 d', seconds: 604_800 },
}
const DEFAULT_RANGE = '1h'

/** Selection of the metrics screen, as its address says it. */
export interface MetricsSelection {
  readonly range: string
  readonly agent: string
  readonly module: string
}

export interface Metrics {
  readonly bucket_seconds: number
  readonly total: Numbers
  readonly points: readonly { readonly time: number; readonly numbers: Numbers }[]
  readonly agents: readonly { readonly agent_id: string; readonly numbers: Numbers }[]
  readonly modules: readonly { readonly agent_id: string; readonly module_id: string; readonly numbers: Numbers }[]
}

const QUERY = `query($since: Float, $until: Float, $agent: String, $module: String) {
  metrics(since: $since, until: $until, points: 60, agent_id: $agent, module_id: $module) {
    bucket_seconds total { ${NUMBER_FIELDS} } points { time numbers { ${NUMBER_FIELDS} } }
    agents { agent_id numbers { ${NUMBER_FIELDS} } } modules { agent_id module_id numbers { ${NUMBER_FIELDS} } }
  }
}`

export function readSelection(query: Readonly<Record<string, string>>): MetricsSelection {
  const { range = '', agent = '', module = '' } = query
  return { range: RANGES[range] ? range : DEFAULT_RANGE, agent, module }
}

/** Reads the metrics of a selection, and reads them again while runs come in. */
export function useMetrics({ range, agent, module }: MetricsSelection) {
  const [now, setNow] = useState(() => Date.now() / 1000)
  const refresh = useThrottled(() => setNow(Date.now() / 1000), 2000)
  useLive('runs', refresh)
  useLive('ready', refresh)
  const since = now - (RANGES[range]?.seconds ?? 0)
  const variables = { since, until: now + 1, agent: agent || null, module: module || null }
  const { data, error } = useQuery<{ metrics: Metrics }>(QUERY, variables)
  return { metrics: data?.metrics, error }
}
