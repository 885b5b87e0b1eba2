import { createReadStream, existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { pageHeaders } from '../guards/page-headers.ts'

// Put into dist/ by the build; from source it is found there too.
const isSource = import.meta.url.endsWith('.ts')
const folder = fileURLToPath(new URL(isSource ? '../../../dist/api-docs/' : '../../api-docs/', import.meta.url))

/** Files by their path. What is packed has no other form: every browser unpacks it. */
const FILES: Readonly<Record<string, { readonly file: string; readonly type: string; readonly isPacked?: true }>> = {
  '/docs': { file: 'index.html', type: 'text/html; charset=utf-8' },
  '/docs/page.css': { file: 'page.css', type: 'text/css; charset=utf-8' },
  '/docs/page.js': { file: 'page.js', type: 'text/javascript; charset=utf-8' },
  '/docs/explorer.js': { file: 'explorer.js.gz', type: 'text/javascript; charset=utf-8', isPacked: true },
}

/** The explorer puts its theme into a `<style>` of its own. */
const HEADERS = { ...pageHeaders({ styles: "'self' 'unsafe-inline'" }), 'cache-control': 'no-cache' }

/** Serves a page at `/docs` that shows `/openapi.json`. */
export function serveApiDocs(app: FastifyInstance): void {
  for (const [path, { file, type, isPacked }] of Object.entries(FILES)) {
    app.get(path, { schema: { hide: true } }, (_request, reply) => {
      if (!existsSync(folder)) return reply.code(404).send({ detail: 'The page is not built: npm run build' })
      if (isPacked) reply.header('content-encoding', 'gzip')
      return reply
        .headers(HEADERS)
        .type(type)
        .send(createReadStream(folder + file))
    })
  }
}
