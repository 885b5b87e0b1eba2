import type { FastifyInstance } from 'fastify'

/** Finds out why the server should get no requests now; undefined when it should. */
export type FindObstacle = () => Promise<string | undefined>

const HEALTH = '/healthz'
const READINESS = '/readyz'

/**
 * Answers `GET /healthz` (the process lives) and `GET /readyz` (it can serve) ahead of everything else: supervisors have no key
 * and no host name.
 */
export function answerProbes(app: FastifyInstance, findObstacle: FindObstacle): void {
  app.addHook('onRequest', async ({ method, url }, reply) => {
    if (!isProbe(url) || (method !== 'GET' && method !== 'HEAD')) return
    const obstacle = url === READINESS ? await findObstacle() : undefined
    reply.header('cache-control', 'no-store')
    if (obstacle !== undefined) reply.code(503)
    return reply.send(obstacle === undefined ? { status: 'ok' } : { status: 'unavailable', detail: obstacle })
  })
}

/** Returns true for the path of a probe: it gets no line in the log. */
export function isProbe(url: string): boolean {
  return url === HEALTH || url === READINESS
}
