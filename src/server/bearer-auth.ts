import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import { HostError } from '../errors.ts'

/**
 * A hook that lets a request through when it carries the key as bearer credentials (RFC 6750, section 2.1). Without a key
 * every request passes. It runs before the body is read.
 *
 * @param onWrongKey takes note of each request that is refused
 * @throws HostError `UNAUTHORIZED`: `Missing Authorization header`, also for another scheme, or `Invalid API key`
 */
export function requireBearer(
  apiKey: string | undefined,
  onWrongKey?: (request: FastifyRequest) => void,
): onRequestHookHandler {
  if (apiKey === undefined) return (_request, _reply, done) => done()
  const matches = keyMatcher(apiKey)
  return (request, _reply, done) => {
    const problem = checkCredentials(request, matches)
    if (problem) onWrongKey?.(request)
    done(problem)
  }
}

/** Compares keys in a time that tells nothing of where they differ. */
export function keyMatcher(apiKey: string): (credentials: string) => boolean {
  // Digests, because the comparison itself throws on unequal lengths.
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(apiKey)
  return (credentials) => timingSafeEqual(digest(credentials), expected)
}

function checkCredentials(request: FastifyRequest, matches: (credentials: string) => boolean): HostError | undefined {
  const credentials = /^bearer +(\S.*)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (credentials === undefined) return new HostError('UNAUTHORIZED', 'Missing Authorization header')
  return matches(credentials.trimEnd()) ? undefined : new HostError('UNAUTHORIZED', 'Invalid API key')
}
