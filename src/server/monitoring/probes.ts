import type { FastifyInstance, FastifyReply } from 'fastify'

/** Sources of what `GET /readyz` tells. */
export interface Readiness {
  /** Finds out why the server should get no requests now; undefined when it should. */
  readonly findObstacle: () => Promise<string | undefined>
  /** Names what its agents miss. */
  readonly listMissing: () => readonly string[]
  /** Finds what should be mended although the server serves well; undefined for nothing. */
  readonly findWeakness: () => string | undefined
}

const HEALTH = '/healthz'
const READINESS = '/readyz'

/**
 * Answers `GET /healthz` (the process lives) and `GET /readyz` (it can serve) ahead of everything else: supervisors have no key
 * and no host name.
 */
export function answerProbes(app: FastifyInstance, readiness: Readiness): void {
  // No promise for the others: every request passes here.
  app.addHook('onRequest', ({ method, url }, reply, done) => {
    if (!isProbe(url) || (method !== 'GET' && method !== 'HEAD')) done()
    else if (url === READINESS) answer(reply, readiness).catch(done)
    else answer(reply).catch(done)
  })
}

/** A server whose agents miss something serves nevertheless: all servers would be taken out of service for one that is away elsewhere. */
async function answer(reply: FastifyReply, readiness?: Readiness): Promise<void> {
  const obstacle = await readiness?.findObstacle()
  const weakness = readiness?.findWeakness()
  const missing = readiness?.listMissing() ?? []
  reply.header('cache-control', 'no-store')
  if (obstacle !== undefined) reply.code(503)
  const state =
    obstacle === undefined ? { status: 'ok', detail: weakness } : { status: 'unavailable', detail: obstacle }
  reply.send(missing.length > 0 ? { ...state, missing } : state)
}

/** Returns true for the path of a probe: it gets no line in the log. */
export function isProbe(url: string): boolean {
  return url === HEALTH || url === READINESS
}
