import { hash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { withScope } from '../../guards/door.ts'
import { pageHeaders } from '../../guards/page-headers.ts'
import { DIST } from '../../replies/static-page.ts'

const folder = fileURLToPath(new URL('ui/', DIST))

/** Media types of the files that are served. */
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Encodings in which the build leaves each file, with the ending of their files; the smallest first. */
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

const HEADERS = pageHeaders()

/** Serves the files of the debug UI at the root. One route per file: missing files are unknown routes. */
export function servePage(app: FastifyInstance): void {
  if (!existsSync(folder)) {
    app.get('/', { config: withScope({}, 'none') }, (_request, reply) =>
      reply.code(404).send({ detail: 'The debug UI is not built: npm run build' }),
    )
    return
  }
  // It holds no data, and asks for the key itself.
  const options = { schema: { hide: true }, config: withScope({}, 'none') }
  for (const file of listFiles()) app.get(`/${file}`, options, (request, reply) => sendFile(file, request, reply))
  app.get('/', options, (request, reply) => sendFile('index.html', request, reply))
}

/** Lists the paths of the files below the folder, with slashes. */
function listFiles(): string[] {
  const files = readdirSync(folder, { recursive: true }).map((file) => String(file).replaceAll(sep, '/'))
  return files.filter((file) => extname(file) in TYPES)
}

async function sendFile(file: string, { headers }: FastifyRequest, reply: FastifyReply): Promise<Buffer | undefined> {
  const [encoding, ending = ''] = ENCODINGS.find(([name]) => accepts(headers['accept-encoding'], name)) ?? []
  const bytes = await readFile(join(folder, `${file}${ending}`))
  const etag = `"${hash('sha1', bytes, 'base64url')}"`
  // Names of assets contain a hash of their content.
  const cacheControl = file.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
  // CORS varies by origin.
  const vary = [reply.getHeader('vary') ?? [], 'accept-encoding'].flat().join(', ')
  reply.headers({ ...HEADERS, 'cache-control': cacheControl, etag, vary })
  if (isKnown(headers['if-none-match'], etag)) return reply.code(304).send()
  if (encoding !== undefined) reply.header('content-encoding', encoding)
  reply.type(TYPES[extname(file)] as string)
  return bytes
}

/** Tells whether a client has these bytes already; weak tags count, too (RFC 9110, section 13.1.2). */
function isKnown(header: string | undefined, etag: string): boolean {
  const tags = (header ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}

/** Tells whether a client takes an encoding; `q=0` refuses it. */
function accepts(header: string | string[] | undefined, encoding: string): boolean {
  const names = String(header ?? '').split(',')
  return names.some((name) => name.split(';', 1)[0]?.trim() === encoding && !/;\s*q=0(?:\.0*)?\s*$/.test(name))
}
