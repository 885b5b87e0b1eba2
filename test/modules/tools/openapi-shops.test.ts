import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { Value } from 'typebox/value'
import { OpenApiDocument } from '../../../modules/tools/lib/openapi/document.ts'
import { listOperations } from '../../../modules/tools/lib/openapi/operations.ts'
import { serverOf } from '../../../modules/tools/lib/openapi/server.ts'
import openapi from '../../../modules/tools/openapi.ts'
import { makeContext, makeRun } from '../../support/fake-run.ts'
import { makeProject } from '../../support/temp-project.ts'

const FOLDER = new URL('../../fixtures/openapi/', import.meta.url)
const FILES = Object.fromEntries(
  readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(yaml|json)$/.test(name))
    .map((name) => [name, readFileSync(new URL(name, FOLDER), 'utf8')]),
)
const TEXT = 'sky/blue'
const LIST = ['blue', 'light green']
const MAP = { R: 100, G: 200 }
const VALUES = { text: TEXT, list: LIST, map: MAP }

/** Arguments of a call, and what the server gets. */
interface Case {
  readonly args?: object
  readonly line: string
  readonly headers?: IncomingHttpHeaders
  readonly body?: string | RegExp
}

const KEY = { 'x-key': 'key-1' }
const JSON_TYPE = { 'content-type': 'application/json' }

/** As the tables of the specification write them (OpenAPI 3.0.4 and 3.1.1, "Style Examples"). */
const SHOP_3_0: Readonly<Record<string, Case>> = {
  simple: { args: VALUES, line: 'GET /shop/simple/sky%2Fblue/blue,light%20green/R,100,G,200', headers: KEY },
  simple_exploded: { args: VALUES, line: 'GET /shop/simple-exploded/blue,light%20green/R=100,G=200' },
  label: { args: VALUES, line: 'GET /shop/label/.sky%2Fblue/.blue,light%20green/.R,100,G,200' },
  label_exploded: { args: VALUES, line: 'GET /shop/label-exploded/.sky%2Fblue/.blue.light%20green/.R=100.G=200' },
  matrix: {
    args: VALUES,
    line: 'GET /shop/matrix/;text=sky%2Fblue/;list=blue,light%20green/;map=R,100,G,200',
  },
  matrix_exploded: {
    args: { ...VALUES, text: '' },
    line: 'GET /shop/matrix-exploded/;text/;list=blue;list=light%20green/;R=100;G=200',
  },
  query_form: {
    args: { ...VALUES, raw: 'a/b?c=d&e#f+g', flag: 'true' },
    line: 'GET /shop/query/form?text=sky%2Fblue&list=blue&list=light%20green&R=100&G=200&raw=a/b?c=d%26e%23f%2Bg&flag=true',
  },
  query_joined: {
    args: { list: LIST, map: MAP, spaced: LIST, piped: LIST, deep: MAP },
    line: 'GET /shop/query/joined?list=blue,light%20green&map=R,100,G,200&spaced=blue%20light%20green&piped=blue%7Clight%20green&deep%5BR%5D=100&deep%5BG%5D=200',
  },
  headers: {
    args: { 'X-Text': TEXT, 'X-List': LIST, 'X-Map': MAP, 'X-Map-Exploded': { R: 1, G: null } },
    line: 'HEAD /shop/headers',
    headers: {
      ...KEY,
      'x-text': TEXT,
      'x-list': 'blue,light green',
      'x-map': 'R,100,G,200',
      'x-map-exploded': 'R=1,G=',
    },
  },
  cookies: {
    args: { text: TEXT, list: LIST },
    line: 'OPTIONS /shop/cookies',
    headers: { cookie: 'text=sky%2Fblue; list=blue,light%20green' },
  },
  content: {
    args: { filter: MAP, note: 'a b' },
    line: 'GET /shop/content?filter=%7B%22R%22%3A100%2C%22G%22%3A200%7D&note=a%20b',
  },
  plant: {
    args: { body: { name: 'oak', branches: [{ name: 'twig' }], gardener: { planted: [{ name: 'elm' }] } } },
    line: 'POST /shop/trees',
    headers: { ...KEY, ...JSON_TYPE },
    body: '{"name":"oak","branches":[{"name":"twig"}],"gardener":{"planted":[{"name":"elm"}]}}',
  },
  form: {
    args: { body: { text: 'a&b', list: LIST, joined: LIST, map: MAP, deep: MAP } },
    line: 'PUT /shop/forms',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'text=a%26b&list=blue&list=light%20green&joined=blue,light%20green&map=%7B%22R%22%3A100%2C%22G%22%3A200%7D&deep%5BR%5D=100&deep%5BG%5D=200',
  },
  files: {
    args: { body: { note: 'hi', map: MAP, table: 'a;b', images: ['one', 'two'] } },
    line: 'POST /shop/files',
    body: parts(
      ['name="note"', 'hi'],
      ['name="map"; filename="blob"\r\nContent-Type: application/json', '{"R":100,"G":200}'],
      ['name="table"; filename="table"\r\nContent-Type: text/csv', 'a;b'],
      ['name="images"; filename="images"\r\nContent-Type: application/octet-stream', 'one'],
      ['name="images"; filename="images"\r\nContent-Type: application/octet-stream', 'two'],
    ),
  },
  text: {
    args: { body: 'as it is' },
    line: 'PATCH /shop/text',
    headers: { 'content-type': 'text/plain' },
    body: 'as it is',
  },
  basic: { line: 'GET /shop/keys/basic', headers: { authorization: 'Basic YW5uOnMzY3JldA==', 'x-key': undefined } },
  bearer: { line: 'GET /shop/keys/bearer', headers: { authorization: 'Bearer token-1' } },
  oauth: { line: 'GET /shop/keys/oauth', headers: { authorization: 'Bearer token-2' } },
  both: { line: 'GET /shop/keys/both?key=key-2', headers: { cookie: 'key=key-3' } },
  either: { line: 'GET /shop/keys/either?key=key-2', headers: { 'x-unset': undefined } },
  optional: { line: 'GET /shop/keys/optional?key=key-2' },
  none: { line: 'DELETE /shop/keys/none', headers: { 'x-key': undefined, authorization: undefined } },
}

const SHOP_3_1: Readonly<Record<string, Case>> = {
  get_things_id: { args: { id: 'a b' }, line: 'GET /shop/things/a%20b' },
  put_thing: {
    args: { id: '7', query_id: '3', body: { kind: 'thing', size: [1, 'm'], parts: [{ kind: 'thing' }] } },
    line: 'PUT /shop/things/;id=7?id=3',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: '{"kind":"thing","size":[1,"m"],"parts":[{"kind":"thing"}]}',
  },
  send: {
    args: { body: { file: 'bytes', tags: ['a', 'b'], about: { kind: 'thing' } } },
    line: 'POST /shop/files',
    body: parts(
      ['name="file"; filename="file"\r\nContent-Type: application/octet-stream', 'bytes'],
      ['name="tags"', 'a'],
      ['name="tags"', 'b'],
      ['name="about"; filename="blob"\r\nContent-Type: application/json', '{"kind":"thing"}'],
    ),
  },
  nothing: { line: 'DELETE /shop/nothing', headers: { authorization: 'Bearer token-3' } },
}

const SECRETS_3_0 = {
  ...{ header_key: 'key-1', query_key: 'key-2', cookie_key: 'key-3' },
  ...{ basic: 'ann:s3cret', bearer: 'token-1', oauth: 'token-2' },
}

describe('tools/openapi with documents of a shop', () => {
  const received: { readonly line: string; readonly headers: IncomingHttpHeaders; readonly body: string }[] = []
  let server: Server
  let port: string
  before(async () => {
    server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const { method, url, headers } = request
      received.push({ line: `${method} ${url}`, headers, body: Buffer.concat(chunks).toString() })
      response.writeHead(method === 'DELETE' ? 204 : 200).end(method === 'DELETE' ? undefined : 'ok')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    port = String((server.address() as AddressInfo).port)
  })
  after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  afterEach(() => received.splice(0))

  async function open(document: string, more: object) {
    const { dir } = await makeProject(FILES)
    const config = { document, base_url: `http://127.0.0.1:${port}/shop/`, ...more }
    const checked = Value.Parse(openapi.config, Value.Default(openapi.config, config))
    return openapi.create({}, checked, makeContext({ projectDir: dir }))
  }

  for (const [document, cases, security] of [
    ['shop-3.0.yaml', SHOP_3_0, SECRETS_3_0],
    ['shop-3.1.yaml', SHOP_3_1, { login: 'token-3' }],
  ] as const) {
    it(`sends every operation of ${document} as the specification writes it`, async () => {
      const provider = await open(document, { security })
      const names = (await provider.listTools(makeRun())).map(({ name }) => name)
      expect(names).to.have.members(Object.keys(cases))
      for (const [name, { args = {}, line, headers = {}, body = '' }] of Object.entries(cases)) {
        const { text, isError } = await provider.executeTool(name, { ...args }, makeRun())
        expect(isError, `${name}: ${text}`).to.equal(undefined)
        const [sent] = received.splice(0)
        expect(sent?.line).to.equal(line)
        for (const [header, value] of Object.entries(headers)) expect(sent?.headers[header], name).to.equal(value)
        if (typeof body === 'string') expect(sent?.body, name).to.equal(body)
        else expect(sent?.body, name).to.match(body)
      }
      await provider[Symbol.asyncDispose]?.()
    })
  }

  it('finds the servers of an operation, its path or the document, and fills in their variables', async () => {
    const { dir } = await makeProject(FILES)
    const serversOf = async (name: string, variables: Record<string, string> = {}) => {
      const document = await OpenApiDocument.load(name, makeContext({ projectDir: dir }), () => Promise.reject())
      return listOperations(document).map((operation) => serverOf(document, operation, variables))
    }
    const rest = 'http://127.0.0.1:80'
    expect(await serversOf('shop-3.1.yaml')).to.deep.equal([`${rest}/of-path`, `${rest}/of-operation`, rest, rest])
    expect([...new Set(await serversOf('shop-3.0.yaml'))]).to.deep.equal(['http://127.0.0.1:80/shop/'])
    const variables = { scheme: 'https', host: 'shop.example', port: '8443', base: 'v2' }
    expect((await serversOf('shop-3.0.yaml', variables))[0]).to.equal('https://shop.example:8443/v2/')
    expect(await serversOf('shop-3.0.yaml', { scheme: 'ftp' }).catch(({ message }) => message)).to.equal(
      "shop-3.0.yaml:3: the variable 'scheme' is 'ftp'; it may be http, https.",
    )
  })
})

/** Matches a multipart body of exactly these parts: end of their heads, and their bodies. */
function parts(...expected: readonly (readonly [head: string, body: string])[]): RegExp {
  const plain = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const written = expected.map(
    ([head, body]) => `--\\S+\\r\\nContent-Disposition: form-data; ${plain(head)}\\r\\n\\r\\n${plain(body)}\\r\\n`,
  )
  return new RegExp(`^${written.join('')}--\\S+--(\\r\\n)?$`)
}
