import type { FastifyInstance } from 'fastify'
import type { AssembledProject } from '../assembly/opened-project.ts'
import { HostError } from '../errors.ts'
import type { EventStreams } from './streams/event-streams.ts'

/** Time that streams have to send their last frame after their runs have ended. */
const LAST_FRAME_MS = 1000

/** Refuses new requests once the server closes. Returns what tells whether it does. */
export function refuseOnClose(app: FastifyInstance): () => boolean {
  let isDraining = false
  app.addHook('onRequest', (_request, _reply, done) => {
    done(isDraining ? new HostError('SHUTTING_DOWN', 'The server shuts down.') : undefined)
  })
  app.addHook('preClose', async () => {
    isDraining = true
  })
  return () => isDraining
}

/** Running work ends or is aborted, and every stream gets its last frame before it is cut. */
export function drainOnClose(app: FastifyInstance, project: AssembledProject, streams: EventStreams): void {
  app.addHook('preClose', async () => {
    await project.drain()
    await streams.drain(LAST_FRAME_MS)
    await project.close()
  })
}
