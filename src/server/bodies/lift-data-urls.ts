import type { FastifyRequest, RouteShorthandOptions } from 'fastify'
import { DataUrlLift } from './data-url-lift.ts'

/** Bodies shorter than this are read as they are. */
const MIN_LENGTH = 256 * 1024

/** Options of a route whose bodies hold pictures and files: their bytes are decoded while they arrive. */
export function liftDataUrls(): Pick<RouteShorthandOptions, 'preParsing' | 'preHandler'> {
  const lifts = new WeakMap<FastifyRequest, DataUrlLift>()
  return {
    preParsing(request, _reply, payload, done) {
      const { 'content-length': header } = request.headers
      const length = header === undefined ? undefined : Number(header)
      // Short bodies leave before `routeOptions` is read: Fastify creates that object for each reader.
      if (length !== undefined && !(length >= MIN_LENGTH)) return done(null, payload)
      const maxBytes = request.routeOptions.bodyLimit
      // The parser refuses what is too long before it reads anything.
      if (length !== undefined && length > maxBytes) return done(null, payload)
      const lift = new DataUrlLift({ length, maxBytes })
      lifts.set(request, lift)
      payload.on('error', (error) => lift.destroy(error))
      done(null, payload.pipe(lift))
    },
    preHandler(request, _reply, done) {
      const lift = lifts.get(request)
      if (lift) request.body = lift.restore(request.body)
      done()
    },
  }
}
