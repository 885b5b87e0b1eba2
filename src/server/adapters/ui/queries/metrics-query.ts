import { GraphQLError } from 'graphql'
import type { MetricsRow } from '../../../../trace/run-index/metrics.ts'
import type { Viewer } from '../viewer.ts'
import type { AgentSources } from './agent-view.ts'
import { withPrices } from './price-models.ts'
import { between } from './run-view.ts'

const MAX_POINTS = 500
const HOUR = 3600
const DAY = 86_400
/** Seconds of the last moment that a date can have. Much later ones are so far apart, as numbers, that a step between points leads nowhere. */
const LAST = 8.64e12

export interface MetricsArguments {
  since?: number | null
  until?: number | null
  points: number
  agent_id?: string | null
  module_id?: string | null
  utc_offset?: number | null
}

/** The field `metrics` of `Query`. */
export async function queryMetrics(
  { since, until, points, agent_id, module_id, utc_offset }: MetricsArguments,
  { traces, prices }: Pick<AgentSources, 'traces' | 'prices'>,
  { tenant, agents }: Viewer,
) {
  const count = between('points', points, MAX_POINTS)
  const end = between('until', until ?? Date.now() / 1000, LAST, -LAST)
  const begin = between('since', since ?? end - HOUR, LAST, -LAST)
  const utcOffset = between('utc_offset', utc_offset ?? 0, DAY, -DAY)
  if (begin >= end) throw new GraphQLError('since must be before until.')
  if (!traces) throw new GraphQLError('There are no traces: start with --debug-ui true.')
  const bucketSeconds = roundBucket((end - begin) / count)
  const selection = { tenant, agents, agentId: agent_id ?? undefined, moduleId: module_id ?? undefined }
  await Promise.all([traces.refresh(), prices.refresh()])
  const view = await traces.query('metrics', { since: begin, until: end, bucketSeconds, utcOffset, ...selection })
  /** The schema picks what it names, so the numbers of a row may have its names beside them. */
  const price = <Row extends MetricsRow>(row: Row) => ({ ...row, numbers: withPrices(row, prices) })
  return {
    ...view,
    total: withPrices(view.total, prices),
    points: view.points.map(price),
    agents: view.agents.map(price),
    versions: view.versions.map(price),
    modules: view.modules.map(price),
    tools: view.tools.map(price),
  }
}

/** Lengths of time that people count in, in seconds. */
const BUCKETS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400]

function roundBucket(seconds: number): number {
  return BUCKETS.find((bucket) => bucket >= seconds) ?? Math.ceil(seconds / 86_400) * 86_400
}
