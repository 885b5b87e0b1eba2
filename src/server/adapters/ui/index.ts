import type { FastifyInstance } from 'fastify'
import { Prices } from '../../../prices/prices.ts'
import { isLoopback } from '../../guards/host-check.ts'
import { logFailure } from '../../replies/error-replies.ts'
import type { Adapter, DebugAdapterOptions } from '../adapter.ts'
import { LiveUpdates } from './live.ts'
import type { MutationSources } from './mutations.ts'
import { servePage } from './page.ts'
import { LargeReads } from './queries/large-reads.ts'
import type { QuerySources } from './queries/queries.ts'
import { uiRoutes } from './routes.ts'
import { addTapeRoute } from './tapes/tape-route.ts'
import { addVariantRoutes } from './variant-routes.ts'

/** Maximum bytes of a query; longer ones are refused unread. */
const MAX_QUERY_BYTES = 64 * 1024

/** The debug UI: a page, and the GraphQL API that it asks. */
export class UiApiAdapter implements Adapter {
  readonly #options: DebugAdapterOptions

  constructor(options: DebugAdapterOptions) {
    this.#options = options
  }

  async adapt(app: FastifyInstance): Promise<void> {
    const { host, traces, log, options, requiresKey } = this.#options
    const questions = isLoopback(options.host) ? this.#options.questions : undefined
    const prices = new Prices(host.projectDir, log)
    const sources = { ...this.#options, questions, prices, reads: new LargeReads() }
    const routes = uiRoutes(requiresKey)
    const live = new LiveUpdates(sources)
    let route: ReturnType<typeof openGraphql> | undefined
    app.route({
      ...routes.queryGraphql(async (request, reply) => {
        route ??= openGraphql(sources).catch((error) => {
          route = undefined
          throw error
        })
        return (await route)(request, reply)
      }),
      bodyLimit: MAX_QUERY_BYTES,
    })
    app.route(routes.followLive((request, reply) => live.open(request, reply)))
    addTapeRoute(app, this.#options, routes)
    if (options.development && traces) {
      const { addRerunRoute } = await import('./tapes/rerun-route.ts')
      addRerunRoute(app, { ...this.#options, traces }, routes)
    }
    addVariantRoutes(app, this.#options, routes)
    if (questions) {
      const { addQuestionRoute } = await import('./questions/question-route.ts')
      addQuestionRoute(app, { ...this.#options, questions }, routes)
    }
    servePage(app)
  }
}

/** Loaded by the first query: a server whose page is never opened does without. */
async function openGraphql(sources: QuerySources & MutationSources) {
  const [{ makeGraphqlRoute }, { makeQueries }, { makeMutations }] = await Promise.all([
    import('./queries/graphql.ts'),
    import('./queries/queries.ts'),
    import('./mutations.ts'),
  ])
  return makeGraphqlRoute({ ...makeQueries(sources), ...makeMutations(sources) }, logFailure)
}
