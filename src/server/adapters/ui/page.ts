import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fastifyStatic, { type SetHeadersResponse } from '@fastify/static'
import type { FastifyInstance } from 'fastify'

// The page is built into dist/; from source it is found there too.
const isSource = import.meta.url.endsWith('.ts')
const folder = fileURLToPath(new URL(isSource ? '../../../../dist/ui/' : '../../../ui/', import.meta.url))

const HEADERS = {
  // Everything is the page's own: nothing is loaded from, or sent to, anywhere else.
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Serves the files of the debug UI at the root. */
export async function servePage(app: FastifyInstance): Promise<void> {
  if (!existsSync(folder)) {
    app.get('/', (_request, reply) => reply.code(404).send({ detail: 'The debug UI is not built: npm run build' }))
    return
  }
  await app.register(fastifyStatic, {
    root: folder,
    // One route a file: what is not there is answered like any other unknown route.
    wildcard: false,
    preCompressed: true,
    decorateReply: false,
    cacheControl: false,
    setHeaders,
  })
}

function setHeaders(reply: SetHeadersResponse, path: string): void {
  for (const [name, value] of Object.entries(HEADERS)) reply.setHeader(name, value)
  // Names of assets hold a hash of what is in them.
  const isAsset = /[\\/]assets[\\/]/.test(path)
  reply.setHeader('cache-control', isAsset ? 'public, max-age=31536000, immutable' : 'no-cache')
}
