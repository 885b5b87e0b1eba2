import { createReadStream, existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { withScope } from '../guards/door.ts'

/** File of a page. What is packed has no other form: every browser unpacks it. */
export interface PageFile {
  readonly file: string
  readonly type: 'html' | 'css' | 'javascript'
  readonly isPacked?: true
}

const isSource = import.meta.url.endsWith('.ts')
/** Folder that the build puts pages into; from source they are found there too. */
export const DIST = new URL(isSource ? '../../../dist/' : '../../', import.meta.url)

/**
 * Serves a page that holds no data, to everyone.
 *
 * @param folder in `dist/`
 * @param files by their path on the server
 */
export function serveStaticPage(
  app: FastifyInstance,
  folder: string,
  files: Readonly<Record<string, PageFile>>,
  headers: Readonly<Record<string, string>>,
): void {
  for (const [path, { file, type, isPacked }] of Object.entries(files)) {
    const location = fileURLToPath(new URL(`${folder}/${file}`, DIST))
    app.get(path, { schema: { hide: true }, config: withScope({}, 'none') }, (_request, reply) => {
      if (!existsSync(location)) return reply.code(404).send({ detail: 'The page is not built: npm run build' })
      if (isPacked) reply.header('content-encoding', 'gzip')
      return reply
        .headers({ ...headers, 'cache-control': 'no-cache' })
        .type(`text/${type}; charset=utf-8`)
        .send(createReadStream(location))
    })
  }
}
