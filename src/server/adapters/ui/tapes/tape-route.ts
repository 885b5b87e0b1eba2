import type { FastifyInstance } from 'fastify'
import { HostError } from '../../../../errors.ts'
import { tapeFile } from '../../../../tape/file/tape-folder.ts'
import type { DebugAdapterOptions } from '../../adapter.ts'
import type { UiRoutes } from '../routes.ts'
import { sees, viewerOf } from '../viewer.ts'

/** Serves the tape of a run, from whichever server has it, as a download: to pages of this server, and with a key that has the scope `debug`. */
export function addTapeRoute(
  app: FastifyInstance,
  { host, traces }: Pick<DebugAdapterOptions, 'host' | 'traces'>,
  { downloadTape }: UiRoutes,
): void {
  app.route(
    downloadTape(async (request, reply) => {
      const viewer = viewerOf(request)
      if (!viewer.seesContent) {
        throw new HostError('ORIGIN_FORBIDDEN', 'A tape holds the whole run: pages of other sites do not get it')
      }
      const { run_id: runId } = request.params
      await traces?.refresh()
      const run = await traces?.query('run', runId)
      const { streamTape } = await import('./run-tape.ts')
      const tape = run && traces && sees(viewer, run) ? await streamTape(run, { traces, host }) : undefined
      if (!tape) return reply.code(404).send({ detail: 'There is no tape of this run' })
      return reply
        .header('content-type', 'application/gzip')
        .header('content-disposition', `attachment; filename="${tapeFile(runId)}"`)
        .header('cache-control', 'no-store')
        .send(tape)
    }),
  )
}
