import { GraphQLError } from 'graphql'
import type { Problem } from '../../../definition/problem.ts'
import type { MetricsRow } from '../../../trace/metrics.ts'
import type { Prices } from '../../../trace/prices.ts'
import { RUN_STATUSES, type RunStatus } from '../../../trace/run-summary.ts'
import { RUN_SORTS, type RunFilter, type RunSort, type RunsQuery } from '../../../trace/trace-query.ts'
import type { Traces } from '../../../trace/traces.ts'
import { VERSION } from '../../../version.ts'
import { type AgentSources, AgentView } from './agent-view.ts'
import { between, priceModels, viewLine, viewRun } from './run-view.ts'

const MAX_LOG = 10_000
const MAX_RUNS = 500
const MAX_POINTS = 500
const HOUR = 3600

export interface QuerySources extends AgentSources {
  readonly development: boolean
  /** Names of the adapters that are served, and whether they ask for a key. */
  readonly adapters: readonly { readonly name: string; readonly hasKey: boolean }[]
}

interface LogArguments {
  agent_id: string
  limit: number
  run_id?: string | null
  event_type?: string | null
  module_id?: string | null
}

type GivenFilter = { [Name in keyof RawFilter]?: RawFilter[Name] | null }
interface RawFilter {
  agent_id: string
  entry_point: string
  status: string
  since: number
  until: number
  min_duration_ms: number
  max_duration_ms: number
  event_type: string
  module_id: string
  method_name: string
  text: string
}

interface RunsArguments {
  filter?: GivenFilter | null
  first: number
  after?: string | null
  sort?: string | null
  ascending?: boolean | null
}

interface MetricsArguments {
  since?: number | null
  until?: number | null
  points: number
  agent_id?: string | null
  module_id?: string | null
}

const EVENT_TYPES = ['call', 'result', 'exception']

/** The fields of `Query`, by their names. */
export function makeQueries(sources: QuerySources) {
  const { host, agents, traces, prices } = sources
  return {
    list_agents: () => host.list().map((info) => new AgentView(info, sources)),

    agent_config({ agent_id: id }: { agent_id: string }) {
      const info = host.get(id)
      if (!info) throw new GraphQLError(`Agent '${id}' not found`)
      return new AgentView(info, sources)
    },

    async debug_log(wanted: LogArguments) {
      const { agent_id, run_id } = wanted
      const limit = between('limit', wanted.limit, MAX_LOG)
      const eventType = oneOf('event_type', wanted.event_type, EVENT_TYPES)
      const moduleId = wanted.module_id ?? undefined
      if (!traces) return { agent_id, events: [], has_more: false }
      if (run_id == null) {
        const { lines, hasMore } = await traces.query('log', { agentId: agent_id, limit, eventType, moduleId })
        return { agent_id, events: lines.flatMap((line) => viewLine(line, null, prices)), has_more: hasMore }
      }
      const run = await traces.query('run', run_id)
      if (run?.agent_id !== agent_id) return { agent_id, events: [], has_more: false }
      const query = { runId: run_id, after: -1, first: limit, eventType, moduleId }
      const { events, hasMore } = await traces.query('events', query)
      return { agent_id, events: events.flatMap(({ line, index }) => viewLine(line, index, prices)), has_more: hasMore }
    },

    async runs({ filter, first, after, sort, ascending }: RunsArguments) {
      const count = between('first', first, MAX_RUNS)
      const wanted = readFilter(filter ?? {})
      if (!traces) return { runs: [], cursor: null, total: 0 }
      const { runs, next } = await traces.query('runs', {
        filter: wanted,
        first: count,
        after: after == null ? undefined : readCursor(after),
        sort: (oneOf('sort', sort, RUN_SORTS) as RunSort | undefined) ?? 'started_at',
        isAscending: ascending ?? false,
      })
      return {
        runs: runs.map((run) => viewRun(run, { traces, prices })),
        cursor: next ? writeCursor(next) : null,
        total: () => traces.query('count', wanted),
      }
    },

    async run({ run_id: runId }: { run_id: string }) {
      const run = await traces?.query('run', runId)
      return run && traces ? viewRun(run, { traces, prices }) : null
    },

    async metrics({ since, until, points, agent_id, module_id }: MetricsArguments) {
      const count = between('points', points, MAX_POINTS)
      const end = until ?? Date.now() / 1000
      const begin = since ?? end - HOUR
      if (begin >= end) throw new GraphQLError('since must be before until.')
      const bucketSeconds = roundBucket((end - begin) / count)
      const query = { since: begin, until: end, bucketSeconds }
      const selection = { agentId: agent_id ?? undefined, moduleId: module_id ?? undefined }
      if (!traces) throw new GraphQLError('There are no traces: start with --debug-ui true.')
      const view = await traces.query('metrics', { ...query, ...selection })
      return {
        ...view,
        total: priceNumbers(view.total, prices),
        points: view.points.map(({ time, ...numbers }) => ({ time, numbers: priceNumbers(numbers, prices) })),
        agents: view.agents.map(({ agent_id, last_at, counts, ...numbers }) => ({
          agent_id,
          last_at,
          counts,
          numbers: priceNumbers(numbers, prices),
        })),
        modules: view.modules.map(({ agent_id, module_id, ...numbers }) => ({
          agent_id,
          module_id,
          numbers: priceNumbers(numbers, prices),
        })),
      }
    },

    problems: (): Problem[] => agents.problems(),

    server: () => ({
      version: VERSION,
      adapters: sources.adapters.map(({ name }) => name),
      adapters_with_key: sources.adapters.filter(({ hasKey }) => hasKey).map(({ name }) => name),
      tracing: () => viewTracing(traces),
      prices_date: prices.date,
      development: sources.development,
    }),
  }
}

/** Numbers with what they cost: of the models whose price is known, or null. */
function priceNumbers(numbers: MetricsRow, prices: Prices): object {
  return { ...numbers, models: priceModels(numbers.models, prices), cost: prices.costOf(numbers.models) }
}

function viewTracing(traces: Traces | undefined): object {
  if (!traces) return { is_on: false, written: 0, dropped: 0, problem: null, missing_bytes: 0 }
  return { is_on: true, ...traces.counts(), missing_bytes: () => traces.query('missingBytes', undefined) }
}

function readFilter(given: GivenFilter): RunFilter {
  return {
    agentId: given.agent_id ?? undefined,
    entryPoint: given.entry_point ?? undefined,
    status: oneOf('status', given.status, RUN_STATUSES) as RunStatus | undefined,
    since: given.since ?? undefined,
    until: given.until ?? undefined,
    minDurationMs: given.min_duration_ms ?? undefined,
    maxDurationMs: given.max_duration_ms ?? undefined,
    hasErrors: oneOf('event_type', given.event_type, EVENT_TYPES) === 'exception' || undefined,
    moduleId: given.module_id ?? undefined,
    methodName: given.method_name ?? undefined,
    text: given.text || undefined,
  }
}

function oneOf(name: string, value: string | null | undefined, known: readonly string[]): string | undefined {
  if (value == null) return undefined
  if (known.includes(value)) return value
  throw new GraphQLError(`${name} must be one of ${known.join(', ')}, not '${value}'.`)
}

function writeCursor({ value, runId }: NonNullable<RunsQuery['after']>): string {
  return Buffer.from(JSON.stringify([value, runId])).toString('base64url')
}

function readCursor(cursor: string): RunsQuery['after'] {
  try {
    const [value, runId] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    const isSorted = typeof value === 'number' || typeof value === 'string'
    if (isSorted && typeof runId === 'string') return { value, runId }
  } catch {
    // Told below, like any other text that is none.
  }
  throw new GraphQLError(`after must be the cursor of a page, not '${cursor}'.`)
}

/** Lengths of time that people count in, in seconds. */
const BUCKETS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400]

function roundBucket(seconds: number): number {
  return BUCKETS.find((bucket) => bucket >= seconds) ?? Math.ceil(seconds / 86_400) * 86_400
}
