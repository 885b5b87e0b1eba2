import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { GraphQLError } from 'graphql'
import { WEBHOOKS_FILE } from '../../../../durable/webhooks/webhook.ts'
import type { Traces } from '../../../../trace/traces.ts'
import { VERSION } from '../../../../version.ts'
import type { DebugAdapterOptions } from '../../adapter.ts'
import { takesDefinitions } from '../variant-routes.ts'
import { contentFor, type Viewer } from '../viewer.ts'
import { type AgentSources, viewAgent, viewProblems } from './agent-view.ts'
import { makeDeliveryQueries } from './delivery-queries.ts'
import { makeEvalQueries } from './eval-queries.ts'
import { type MetricsArguments, queryMetrics } from './metrics-query.ts'
import { makeRunQueries } from './run-queries.ts'

export type QuerySources = AgentSources & Pick<DebugAdapterOptions, 'options' | 'served' | 'questions'>

/** The fields of `Query`, by their names. */
export function makeQueries(sources: QuerySources) {
  const { host, agents, traces, prices, served, options, questions } = sources
  const { development, serverName, allowVariants } = options
  return {
    list_agents: () => host.list().map((info) => viewAgent(info, sources)),

    agent_config({ agent_id: id }: { agent_id: string }) {
      const info = host.get(id)
      if (!info) throw new GraphQLError(`Agent '${id}' not found`)
      return viewAgent(info, sources)
    },

    ...makeRunQueries(sources),
    ...makeEvalQueries(sources),
    ...makeDeliveryQueries(sources),

    metrics: (wanted: MetricsArguments, viewer: Viewer) => queryMetrics(wanted, sources, viewer),

    problems(_: unknown, viewer: Viewer) {
      const seen = new Set(host.list().map(({ file }) => file))
      return viewProblems(
        agents.problems().filter(({ file }) => !viewer.agents || seen.has(file)),
        viewer,
      )
    },

    server: (_: unknown, viewer: Viewer) => ({
      version: VERSION,
      name: serverName,
      shares_runs: traces?.isShared ?? false,
      adapters: served.map(({ name }) => name),
      adapters_with_key: served.filter(({ hasKey }) => hasKey).map(({ name }) => name),
      tracing: () => viewTracing(traces, viewer),
      prices_date: prices.date,
      development,
      project_dir: development && viewer.isOwnPage ? host.projectDir : null,
      has_webhooks: viewer.seesContent && existsSync(join(host.projectDir, WEBHOOKS_FILE)),
      takes_variants: development ? viewer.isOwnPage : allowVariants && viewer.keyScopes.includes('debug'),
      takes_definitions: takesDefinitions(options) && viewer.isOwnPage,
      asks_at_terminal: questions !== undefined && viewer.mayAsk,
      shows_content: viewer.seesContent,
      key_scopes: viewer.keyScopes,
    }),
  }
}

/** Numbers for a viewer of all tenants alone: they are those of all. */
function viewTracing(traces: Traces | undefined, viewer: Viewer): object {
  if (!traces || viewer.tenant !== undefined) {
    return { is_on: traces !== undefined, written: 0, dropped: 0, problem: null, missing_bytes: 0 }
  }
  const { problem, ...counts } = traces.counts()
  return {
    is_on: true,
    ...counts,
    problem: contentFor(viewer, problem),
    missing_bytes: () => traces.query('missingBytes', undefined),
  }
}
