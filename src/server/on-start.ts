import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { withDeadline } from '../async.ts'

/** Time before a limit of Fastify, which does not say what has taken so long. */
const MARGIN_MS = 500
/** Time after which the log names a part that is still not ready. */
const SLOW_MS = 5000

/**
 * Has the server wait for a part of it before it is ready: on a slow disk or a busy machine as long as it takes. Where another app
 * has a limit for its plugins, the error names the part.
 *
 * @param part as messages name it, at the beginning of a sentence: `The store`
 */
export function onStart(app: FastifyInstance, part: string, start: () => PromiseLike<unknown>): void {
  const { pluginTimeout = 0 } = app.initialConfig
  const limitMs = pluginTimeout - MARGIN_MS
  app.addHook('onReady', async () => {
    const starting = nameSlow(app.log, part, start())
    await (limitMs > 0 ? withDeadline(starting, limitMs, () => late(part, limitMs)) : starting)
  })
}

/** Settles as the promise does. A part that takes long is named in the log once. */
export async function nameSlow<T>(
  log: Pick<FastifyBaseLogger, 'warn'>,
  part: string,
  starting: PromiseLike<T>,
  slowMs = SLOW_MS,
): Promise<T> {
  const timer = setTimeout(() => {
    log.warn(`${part} is not ready after ${slowMs / 1000} s. The server starts as soon as it is.`)
  }, slowMs)
  try {
    return await starting
  } finally {
    clearTimeout(timer)
  }
}

function late(part: string, limitMs: number): Error {
  return new Error(`${part} was not ready within ${limitMs / 1000} s, so the server did not start. Start it again.`)
}
