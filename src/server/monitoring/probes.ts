import type { FastifyInstance, FastifyReply } from 'fastify'

/** Finds out why the server should get no requests now; undefined when it should. */
export type FindObstacle = () => Promise<string | undefined>

const HEALTH = '/healthz'
const READINESS = '/readyz'

/**
 * Answers `GET /healthz` (the process lives) and `GET /readyz` (it can serve) ahead of everything else: supervisors have no key
 * and no host name.
 */
export function answerProbes(app: FastifyInstance, findObstacle: FindObstacle): void {
  // No promise for the others: every request passes here.
  app.addHook('onRequest', ({ method, url }, reply, done) => {
    if (!isProbe(url) || (method !== 'GET' && method !== 'HEAD')) done()
    else answer(url === READINESS ? findObstacle : NO_OBSTACLE, reply).catch(done)
  })
}

const NO_OBSTACLE: FindObstacle = async () => undefined

async function answer(findObstacle: FindObstacle, reply: FastifyReply): Promise<void> {
  const obstacle = await findObstacle()
  reply.header('cache-control', 'no-store')
  if (obstacle !== undefined) reply.code(503)
  reply.send(obstacle === undefined ? { status: 'ok' } : { status: 'unavailable', detail: obstacle })
}

/** Returns true for the path of a probe: it gets no line in the log. */
export function isProbe(url: string): boolean {
  return url === HEALTH || url === READINESS
}
