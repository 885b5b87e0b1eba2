import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fastifyStatic, { type SetHeadersResponse } from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { pageHeaders } from '../../page-headers.ts'

// The page is built into dist/; from source it is found there too.
const isSource = import.meta.url.endsWith('.ts')
const folder = fileURLToPath(new URL(isSource ? '../../../../dist/ui/' : '../../../ui/', import.meta.url))

const HEADERS = pageHeaders()

/** Serves the files of the debug UI at the root. */
export async function servePage(app: FastifyInstance): Promise<void> {
  if (!existsSync(folder)) {
    app.get('/', (_request, reply) => reply.code(404).send({ detail: 'The debug UI is not built: npm run build' }))
    return
  }
  await app.register(fastifyStatic, {
    root: folder,
    // One route per file: missing files are unknown routes.
    wildcard: false,
    preCompressed: true,
    decorateReply: false,
    cacheControl: false,
    setHeaders,
  })
}

function setHeaders(reply: SetHeadersResponse, path: string): void {
  for (const [name, value] of Object.entries(HEADERS)) reply.setHeader(name, value)
  // Names of assets contain a hash of their content.
  const isAsset = /[\\/]assets[\\/]/.test(path)
  reply.setHeader('cache-control', isAsset ? 'public, max-age=31536000, immutable' : 'no-cache')
}
