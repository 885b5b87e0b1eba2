import type { FastifyInstance } from 'fastify'
import { withDeadline } from '../async.ts'

/** Time before Fastify's own limit, which does not say what has taken so long. */
const MARGIN_MS = 500

/**
 * Has the server wait for a part of it before it is ready.
 *
 * @param part as errors name it, at the beginning of a sentence: `The store`
 */
export function onStart(app: FastifyInstance, part: string, start: () => PromiseLike<unknown>): void {
  const { pluginTimeout = 0 } = app.initialConfig
  const limitMs = pluginTimeout - MARGIN_MS
  app.addHook('onReady', async () => {
    const starting = start()
    await (limitMs > 0 ? withDeadline(starting, limitMs, () => late(part, limitMs)) : starting)
  })
}

function late(part: string, limitMs: number): Error {
  return new Error(`${part} was not ready within ${limitMs / 1000} s, so the server did not start. Start it again.`)
}
