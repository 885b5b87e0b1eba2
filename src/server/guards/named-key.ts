import type { onRequestHookHandler } from 'fastify'
import { HostError } from '../../errors.ts'

/** Returns a hook for before the door: the key in a header of the adapter's protocol becomes the bearer that doors read. */
export function takeKeyFrom(header: string): onRequestHookHandler {
  return ({ headers }, _reply, done) => {
    const key = headers[header]
    delete headers[header]
    if (typeof key !== 'string') return done()
    const other = headers.authorization?.replace(/^bearer +/i, '')
    if (other !== undefined && other !== key) {
      return done(
        new HostError('UNAUTHORIZED', `The headers ${header} and Authorization hold two different credentials`),
      )
    }
    headers.authorization = `Bearer ${key}`
    done()
  }
}

/** Hook for behind the door: the adapter sees no key. */
export const hideKey: onRequestHookHandler = ({ headers }, _reply, done) => {
  delete headers.authorization
  done()
}
