import { GraphQLError } from 'graphql'
import type { Problem } from '../../../definition/problem.ts'
import type { Traces } from '../../../trace/traces.ts'
import { VERSION } from '../../../version.ts'
import { type AgentSources, AgentView } from './agent-view.ts'
import { type MetricsArguments, queryMetrics } from './metrics-query.ts'
import { makeRunQueries } from './run-queries.ts'
import type { Viewer } from './viewer.ts'

export interface QuerySources extends AgentSources {
  readonly development: boolean
  readonly serverName: string
  /** Absolute path of the project. */
  readonly projectDir: string
  /** Names of the adapters that are served, and whether they ask for a key. */
  readonly adapters: readonly { readonly name: string; readonly hasKey: boolean }[]
}

/** The fields of `Query`, by their names. */
export function makeQueries(sources: QuerySources) {
  const { host, agents, traces, prices, adapters, development, projectDir, serverName } = sources
  return {
    list_agents: () => host.list().map((info) => new AgentView(info, sources)),

    agent_config({ agent_id: id }: { agent_id: string }) {
      const info = host.get(id)
      if (!info) throw new GraphQLError(`Agent '${id}' not found`)
      return new AgentView(info, sources)
    },

    ...makeRunQueries(sources),

    metrics: (wanted: MetricsArguments, viewer: Viewer) => queryMetrics(wanted, sources, viewer),

    problems: (): Problem[] => agents.problems(),

    server: (_: unknown, { isOwnPage, tenant }: Viewer) => ({
      version: VERSION,
      name: serverName,
      shares_runs: traces?.isShared ?? false,
      adapters: adapters.map(({ name }) => name),
      adapters_with_key: adapters.filter(({ hasKey }) => hasKey).map(({ name }) => name),
      tracing: () => viewTracing(traces, tenant === undefined),
      prices_date: prices.date,
      development,
      project_dir: development && isOwnPage ? projectDir : null,
    }),
  }
}

/** @param seesAll false for a viewer of one tenant: the numbers are those of all */
function viewTracing(traces: Traces | undefined, seesAll: boolean): object {
  if (!traces || !seesAll) {
    return { is_on: traces !== undefined, written: 0, dropped: 0, problem: null, missing_bytes: 0 }
  }
  return { is_on: true, ...traces.counts(), missing_bytes: () => traces.query('missingBytes', undefined) }
}
