import type { FastifyInstance } from 'fastify'
import { pageHeaders } from '../guards/page-headers.ts'
import { type PageFile, serveStaticPage } from '../replies/static-page.ts'

const FILES: Readonly<Record<string, PageFile>> = {
  '/docs': { file: 'index.html', type: 'html' },
  '/docs/page.css': { file: 'page.css', type: 'css' },
  '/docs/page.js': { file: 'page.js', type: 'javascript' },
  '/docs/explorer.js': { file: 'explorer.js.gz', type: 'javascript', isPacked: true },
}

/** Serves a page at `/docs` that shows `/openapi.json`. */
export function serveApiDocs(app: FastifyInstance): void {
  // The explorer puts its theme into a `<style>` of its own.
  serveStaticPage(app, 'api-docs', FILES, pageHeaders({ styles: "'self' 'unsafe-inline'" }))
}
