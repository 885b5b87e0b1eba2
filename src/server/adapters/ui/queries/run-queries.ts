import { GraphQLError } from 'graphql'
import { RUN_STATUSES } from '../../../../trace/run-columns.ts'
import { EVENT_TYPES, RUN_SORTS, type RunFilter, type RunsQuery } from '../../../../trace/run-index/trace-query.ts'
import { contentFor, sees, seesAgent, type Viewer } from '../viewer.ts'
import type { AgentSources } from './agent-view.ts'
import { between, viewLines, viewRun } from './run-view.ts'

const MAX_LOG = 10_000
const MAX_RUNS = 500

export interface LogArguments {
  agent_id: string
  limit: number
  run_id?: string | null
  event_type?: string | null
  module_id?: string | null
}

export type GivenFilter = { [Name in keyof RawFilter]?: RawFilter[Name] | null }
export interface RawFilter {
  agent_id: string
  entry_point: string
  server: string
  user: string
  conversation: string
  agent_version: string
  status: string
  since: number
  until: number
  min_duration_ms: number
  max_duration_ms: number
  event_type: string
  module_id: string
  method_name: string
  tool_name: string
  top_level: boolean
  evals: boolean
  text: string
}

export interface RunsArguments {
  filter?: GivenFilter | null
  first: number
  after?: string | null
  sort?: string | null
  ascending?: boolean | null
}

/** The fields of `Query` that read runs, by their names. */
export function makeRunQueries(sources: Pick<AgentSources, 'traces' | 'prices' | 'reads' | 'host'>) {
  const { traces, prices, reads } = sources
  return {
    async debug_log(wanted: LogArguments, viewer: Viewer) {
      const { agent_id, run_id } = wanted
      const limit = between('limit', wanted.limit, MAX_LOG)
      const eventType = oneOf('event_type', wanted.event_type, EVENT_TYPES)
      const moduleId = wanted.module_id ?? undefined
      if (!traces || !seesAgent(viewer, agent_id)) return { agent_id, events: [], has_more: false }
      await prices.refresh()
      const ofQuery = reads.events(viewer)
      if (run_id == null) {
        const log = { agentId: agent_id, tenant: viewer.tenant, limit, eventType, moduleId }
        return ofQuery.read(JSON.stringify(log), async () => {
          const { lines, hasMore } = await traces.query('log', log)
          const found = lines.map((line) => ({ line, index: null }))
          return { agent_id, ...(await viewLines(found, { prices, ofQuery })), has_more: hasMore }
        })
      }
      await traces.refresh()
      const run = await traces.query('run', run_id)
      if (run?.agent_id !== agent_id || !sees(viewer, run)) return { agent_id, events: [], has_more: false }
      const query = { runId: run_id, after: -1, first: limit, eventType, moduleId }
      return ofQuery.read(`log ${JSON.stringify(query)}`, async () => {
        const { events, hasMore } = await traces.events(run, query)
        return { agent_id, ...(await viewLines(events, { prices, ofQuery })), has_more: hasMore }
      })
    },

    async runs({ filter, first, after, sort, ascending }: RunsArguments, viewer: Viewer) {
      const count = between('first', first, MAX_RUNS)
      const wanted = { ...readFilter(filter ?? {}), tenant: viewer.tenant, agents: viewer.agents }
      // A count of those with a text, a user or a conversation would give it away.
      const { text, user, conversation } = wanted
      const isHidden = (text ?? user ?? conversation) !== undefined && !viewer.seesContent
      if (!traces || isHidden) return { runs: [], cursor: null, total: 0 }
      await Promise.all([traces.refresh(), prices.refresh()])
      const { runs, next } = await traces.query('runs', {
        filter: wanted,
        first: count,
        after: after == null ? undefined : readCursor(after),
        sort: oneOf('sort', sort, RUN_SORTS) ?? 'started_at',
        isAscending: ascending ?? false,
      })
      const ofRuns = { ...sources, traces }
      return {
        runs: runs.map((run) => viewRun(run, ofRuns)),
        cursor: next ? contentFor(viewer, writeCursor(next)) : null,
        total: () => traces.query('count', wanted),
      }
    },

    async run({ run_id: runId }: { run_id: string }, viewer: Viewer) {
      await Promise.all([traces?.refresh(), prices.refresh()])
      const run = await traces?.query('run', runId)
      return run && traces && sees(viewer, run) ? viewRun(run, { ...sources, traces }) : null
    },
  }
}

function readFilter(given: GivenFilter): RunFilter {
  return {
    agentId: given.agent_id ?? undefined,
    entryPoint: given.entry_point ?? undefined,
    server: given.server ?? undefined,
    user: given.user ?? undefined,
    conversation: given.conversation ?? undefined,
    agentVersion: given.agent_version ?? undefined,
    status: oneOf('status', given.status, RUN_STATUSES),
    since: given.since ?? undefined,
    until: given.until ?? undefined,
    minDurationMs: given.min_duration_ms ?? undefined,
    maxDurationMs: given.max_duration_ms ?? undefined,
    eventType: oneOf('event_type', given.event_type, EVENT_TYPES),
    moduleId: given.module_id ?? undefined,
    methodName: given.method_name ?? undefined,
    toolName: given.tool_name ?? undefined,
    isTopLevel: given.top_level ?? undefined,
    isEval: given.evals ?? false,
    text: given.text || undefined,
  }
}

function oneOf<T extends string>(name: string, value: string | null | undefined, known: readonly T[]): T | undefined {
  if (value == null) return undefined
  const found = known.find((each) => each === value)
  if (found !== undefined) return found
  throw new GraphQLError(`${name} must be one of ${known.join(', ')}, not '${value}'.`)
}

function writeCursor({ value, runId }: NonNullable<RunsQuery['after']>): string {
  return Buffer.from(JSON.stringify([value, runId])).toString('base64url')
}

function readCursor(cursor: string): RunsQuery['after'] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const [value, runId]: readonly unknown[] = Array.isArray(parsed) ? parsed : []
    const isSorted = typeof value === 'number' || typeof value === 'string'
    if (isSorted && typeof runId === 'string') return { value, runId }
  } catch {
    // Reported below, like any other invalid text.
  }
  throw new GraphQLError(`after must be the cursor of a page, not '${cursor}'.`)
}
