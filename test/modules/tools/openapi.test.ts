import { execFile } from 'node:child_process'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { fieldsOf, type GuardedFetch, type ModuleContext, type Run } from 'agent-host'
import { expect } from 'chai'
import { Value } from 'typebox/value'
import { OpenApiDocument } from '../../../modules/tools/lib/openapi/document.ts'
import { listOperations, readOperation } from '../../../modules/tools/lib/openapi/operations.ts'
import openapi from '../../../modules/tools/openapi.ts'
import { eventually } from '../../support/eventually.ts'
import { makeContext, makeRun } from '../../support/fake-run.ts'
import { makeProject } from '../../support/temp-project.ts'

interface Recorded {
  readonly line: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

const PETS = `openapi: 3.0.3
info: { title: Pets, version: '1' }
servers: [{ url: 'http://{host}/v1', variables: { host: { default: example.com } } }]
security: [{ key: [] }]
paths:
  /pets/{id}:
    parameters:
      - { name: id, in: path, required: true, schema: { type: string } }
    get:
      operationId: getPet
      summary: Gets a pet.
      tags: [reading]
      parameters:
        - { name: fields, in: query, schema: { type: array, items: { type: string } }, explode: false }
        - { name: filter, in: query, style: deepObject, explode: true, schema: { type: object } }
        - { name: id, in: query, schema: { type: integer, nullable: true } }
        - { name: X-Trace, in: header, schema: { type: string } }
        - { name: session, in: cookie, schema: { type: string } }
        - { name: where, in: query, content: { application/json: { schema: { type: object } } } }
      responses: { '200': { description: ok } }
    delete:
      security: []
      responses: { '204': { description: gone } }
  /pets:
    $ref: paths/pets.yaml#/pets
  /forms:
    post:
      operationId: sendForm
      tags: [writing]
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema: { type: object, properties: { a: { type: string }, list: { type: array, items: { type: string } }, more: { type: object } } }
      responses: { '200': { description: ok } }
  /files:
    post:
      operationId: upload
      requestBody:
        content:
          multipart/form-data:
            schema: { type: object, properties: { note: { type: string }, file: { type: string, format: binary }, meta: { type: object } } }
            encoding: { file: { contentType: text/csv } }
      responses: { '200': { description: ok } }
components:
  securitySchemes:
    key: { type: apiKey, in: query, name: api_key }
    login: { type: http, scheme: basic }
`

const FILES = {
  'api.yaml': PETS,
  'paths/pets.yaml': `pets:
  post:
    operationId: addPet
    requestBody: { $ref: '../parts.json#/bodies/pet' }
    responses: { '200': { description: ok } }
`,
  'parts.json': JSON.stringify({
    bodies: { pet: { required: true, content: { 'application/json': { schema: { $ref: '#/Pet' } } } } },
    Pet: {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string', example: 'Rex' },
        parent: { $ref: '#/Pet' },
        age: { type: 'number', minimum: 0, exclusiveMinimum: true },
      },
    },
  }),
}

describe('tools/openapi', () => {
  const servers: Server[] = []
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })

  /** Answers every request with what `answer` says, and remembers it. */
  async function record(
    answer: { status?: number; headers?: Record<string, string>; body?: string | Buffer } = { body: '{"ok":true}' },
  ) {
    const requests: Recorded[] = []
    const server = createServer(async (request, reply) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const { method, url, headers } = request
      requests.push({ line: `${method} ${url}`, headers, body: Buffer.concat(chunks).toString() })
      reply.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers }).end(answer.body)
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    return { requests, url: `http://127.0.0.1:${port}/v1`, port }
  }

  async function open(config: object, files: Record<string, string> = FILES, facts: Partial<ModuleContext> = {}) {
    const { dir } = await makeProject(files)
    const context = makeContext({ projectDir: dir, ...facts })
    const checked = Value.Parse(openapi.config, Value.Default(openapi.config, { document: 'api.yaml', ...config }))
    const provider = await openapi.create({}, checked, context)
    const call = async (name: string, args: Record<string, unknown> = {}, run: Run = makeRun()) =>
      provider.executeTool(name, args, run)
    return { provider, call, lines: context.lines }
  }

  const problemOf = (files: Record<string, string>, config: object = {}) =>
    open(config, files).then(
      () => 'It was loaded.',
      (error: Error) => error.message,
    )
  const withPaths = (paths: object, more: object = {}) => ({
    'api.yaml': JSON.stringify({ openapi: '3.1.0', info: { title: 't', version: '1' }, paths, ...more }, null, 2),
  })
  const responses = { 200: { description: 'ok' } }

  it('makes a tool of each operation, with a schema of its own', async () => {
    const { provider } = await open({})
    const tools = await provider.listTools(makeRun())
    expect(tools.map(({ name }) => name)).to.deep.equal(['getPet', 'delete_pets_id', 'addPet', 'sendForm', 'upload'])
    expect(tools[0]).to.deep.include({ description: 'Gets a pet.' })
    expect(tools[0]?.parameters).to.deep.include({ required: ['id'] })
    expect(Object.keys(tools[0]?.parameters.properties as object)).to.deep.equal([
      'id',
      'fields',
      'filter',
      'query_id',
      'X-Trace',
      'session',
      'where',
    ])
    expect(tools[0]?.parameters.properties).to.deep.include({ query_id: { type: ['integer', 'null'] } })
    expect(tools[2]?.parameters).to.deep.equal({
      type: 'object',
      properties: { body: { description: 'The body, as application/json.', $ref: '#/$defs/Pet' } },
      required: ['body'],
      $defs: {
        Pet: {
          type: 'object',
          required: ['name'],
          properties: {
            name: { type: 'string' },
            parent: { $ref: '#/$defs/Pet' },
            age: { type: 'number', exclusiveMinimum: 0 },
          },
        },
      },
    })
  })

  it('reads JSON and YAML with a byte order mark, also at an address, and warns of what is not UTF-8', async () => {
    const document = JSON.stringify({
      ...{ openapi: '3.1.0', info: { title: 't', version: '1' }, servers: [{ url: 'https://a.example' }] },
      paths: { '/shelf': { get: { operationId: 'readShelf', responses } } },
    })
    const { url } = await record({ body: `\ufeff${document}` })
    const marked = { 'json.json': `\ufeff${document}`, 'api.yaml': `\ufeff${PETS}` }
    for (const [place, first] of [
      ['json.json', 'readShelf'],
      ['api.yaml', 'getPet'],
      [url, 'readShelf'],
    ] as const) {
      const { provider, lines } = await open({ document: place, base_url: url }, { ...FILES, ...marked })
      const [tool] = await provider.listTools(makeRun())
      expect([tool?.name, lines.filter((line) => line.includes('UTF'))]).to.deep.equal([first, []])
    }
    const latin = await record({ body: Buffer.from(document.replace('"t"', '"\xe4"'), 'latin1') })
    const { lines } = await open({ document: latin.url, base_url: url })
    expect(lines).to.deep.equal([`warn ${latin.url} is not UTF-8 text. Save it as UTF-8.`])
  })

  it('sends parameters of every place, and the secrets of the operation', async () => {
    const { requests, url } = await record()
    const { call } = await open({ base_url: url, headers: { 'x-app': 'canary' }, security: { key: 's/1' } })
    const args = {
      id: 'a/b',
      fields: ['x', 'y z'],
      filter: { size: 'big' },
      query_id: '3',
      'X-Trace': 't1',
      session: 's1',
      where: { a: 1 },
    }
    expect(await call('getPet', args)).to.deep.equal({ text: '{"ok":true}', data: { ok: true } })
    expect(requests[0]?.line).to.equal(
      'GET /v1/pets/a%2Fb?fields=x,y%20z&filter%5Bsize%5D=big&id=3&where=%7B%22a%22%3A1%7D&api_key=s%2F1',
    )
    expect(requests[0]?.headers).to.include({ 'x-trace': 't1', cookie: 'session=s1', 'x-app': 'canary' })
    const failure = await call('delete_pets_id', { id: '..' }).catch((error: Error) => error.message)
    expect(failure).to.equal("Wrong arguments for the path /pets/{id}: a part of it would be '..'.")
    const empty = await call('delete_pets_id', { id: '' }).catch((error: Error) => error.message)
    expect(empty).to.equal("Wrong arguments for the path /pets/{id}: 'id' is empty.")
    expect(requests.length).to.equal(1)
  })

  it('lets no model set a header that makes another request of it', async () => {
    const { requests, url } = await record()
    const named = [
      'Content-Length',
      'Host',
      'transfer-encoding',
      'Connection',
      'Cookie',
      'Expect',
      'X-HTTP-Method-Override',
      'Sec-Fetch-Site',
    ]
    const parameters = [...named, 'X-Trace'].map((name) => ({
      name,
      in: 'header',
      required: true,
      schema: { type: 'string' },
    }))
    const files = withPaths({ '/a': { parameters, get: { operationId: 'a', responses } } })
    const { provider, call, lines } = await open({ base_url: url }, files)
    const [tool] = await provider.listTools(makeRun())
    expect(tool?.parameters).to.deep.include({ properties: { 'X-Trace': { type: 'string' } }, required: ['X-Trace'] })
    expect(lines).to.deep.equal([
      `warn Headers that no model may set are left out: ${named.map((name) => `'${name}' of a`).join(', ')}.`,
    ])
    await call('a', { 'X-Trace': 't', ...Object.fromEntries(named.map((name) => [name, '7'])) })
    expect(requests[0]?.headers).to.have.all.keys('accept', 'accept-encoding', 'connection', 'host', 'x-trace')
    expect(requests[0]?.headers).to.include({ host: new URL(url).host, 'x-trace': 't' })
  })

  it('refuses such a header in the config, and as the place of a secret', async () => {
    expect(await problemOf(FILES, { headers: { 'Content-Length': '0' } })).to.equal(
      "headers: the header 'Content-Length' is set by HTTP itself. Leave it out.",
    )
    const schemes = { components: { securitySchemes: { k: { type: 'apiKey', in: 'header', name: 'Host' } } } }
    const files = withPaths({ '/a': { get: { operationId: 'a', security: [{ k: [] }], responses } } }, schemes)
    expect(await problemOf(files, { base_url: 'https://a.example', security: { k: 'x' } })).to.equal(
      "the security scheme 'k': the header 'Host' is set by HTTP itself. Leave it out.",
    )
  })

  it('refuses a value that no header can have, without showing it', async () => {
    const refusal = (name: string) =>
      `headers, security: the value of the header '${name}' has a character that no header can have, such as a line break.`
    expect(await problemOf(FILES, { headers: { 'X-A': 'can\nary' } })).to.equal(refusal('X-A'))
    const schemes = { components: { securitySchemes: { k: { type: 'http', scheme: 'bearer' } } } }
    const files = withPaths({ '/a': { get: { operationId: 'a', security: [{ k: [] }], responses } } }, schemes)
    expect(await problemOf(files, { base_url: 'https://a.example', security: { k: 'can\nary' } })).to.equal(
      refusal('authorization'),
    )
  })

  it('refuses a name that no header can have, and offers none to a model', async () => {
    const { url } = await record()
    expect(await problemOf(FILES, { headers: { 'Host ': 'b' } })).to.equal(
      'headers: "Host " is not the name of a header.',
    )
    const parameters = ['Host ', 'X\r\nHost', ''].map((name) => ({ name, in: 'header', schema: { type: 'string' } }))
    const files = withPaths({ '/a': { parameters, get: { operationId: 'a', responses } } })
    const { provider } = await open({ base_url: url }, files)
    const [tool] = await provider.listTools(makeRun())
    expect(tool?.parameters).to.deep.include({ properties: {} })
  })

  it('names the header whose value none can have, and sends half a surrogate pair as U+FFFD', async () => {
    const { requests, url } = await record()
    const { call } = await open({ base_url: url })
    const refused = (value: string) =>
      call('getPet', { id: '1', 'X-Trace': value }).then(
        () => 'It was sent.',
        (error: Error) => error.message,
      )
    for (const value of ['a\nb', 'жук', '\ud83d'])
      expect(await refused(value)).to.equal(
        "Wrong arguments for the path /pets/{id}: the value of the header 'X-Trace' has a character that no header can have, such as a line break.",
      )
    await call('getPet', { id: 'a\ud83d', session: '\ude00', fields: ['\ud83d\ude00'] })
    expect(requests.map(({ line, headers }) => [line, headers.cookie])).to.deep.equal([
      ['GET /v1/pets/a%EF%BF%BD?fields=%F0%9F%98%80', 'session=%EF%BF%BD'],
    ])
  })

  it('lets no value of a cookie begin another one', async () => {
    const { requests, url } = await record()
    const parameters = [{ name: 'c', in: 'cookie', allowReserved: true, schema: { type: 'string' } }]
    const files = withPaths({ '/a': { parameters, get: { operationId: 'a', responses } } }, { openapi: '3.0.3' })
    const { call } = await open({ base_url: url }, files)
    await call('a', { c: '1;session=other' })
    expect(requests[0]?.headers.cookie).to.equal('c=1%3Bsession%3Dother')
  })

  it('sends bodies as JSON, forms and multipart', async () => {
    const { requests, url } = await record()
    const { call } = await open({ base_url: url, security: { key: 'k' } })
    await call('addPet', { body: { name: 'Rex', parent: { name: 'Max' } } })
    expect(requests[0]).to.deep.include({ body: '{"name":"Rex","parent":{"name":"Max"}}' })
    expect(requests[0]?.headers['content-type']).to.equal('application/json')
    await call('sendForm', { body: { a: '1 & 2', list: ['x', 'y'], more: { z: 1 } } })
    expect(requests[1]?.body).to.equal('a=1%20%26%202&list=x&list=y&more=%7B%22z%22%3A1%7D')
    await call('upload', { body: { note: 'hi', file: 'a;b', meta: { z: 1 } } })
    const { body = '', headers } = requests[2] ?? {}
    expect(headers?.['content-type']).to.match(/^multipart\/form-data; boundary=/)
    expect(body).to.match(/name="note"\r\n\r\nhi\r\n/)
    expect(body).to.match(/name="file"; filename="file"\r\ncontent-type: text\/csv\r\n\r\na;b\r\n/i)
    expect(body).to.match(/name="meta"; filename="blob"\r\ncontent-type: application\/json\r\n\r\n\{"z":1\}\r\n/i)
  })

  it('rejects arguments that do not fit, also deep in a circle, without a call', async () => {
    const { requests, url } = await record()
    const { call } = await open({ base_url: url })
    const failure = await call('addPet', { body: { name: 'Rex', parent: { name: 1, age: 0 } } }).catch((error) => error)
    expect((failure as Error).message).to.match(/^Wrong arguments for 'addPet': /)
    expect(requests).to.deep.equal([])
  })

  it('asks a person before anything but GET, unless the config says otherwise', async () => {
    const { provider } = await open({})
    const need = (name: string) => provider.needsApproval?.(name, {}, makeRun())
    expect([need('getPet'), need('delete_pets_id'), need('addPet')]).to.deep.equal([false, true, true])
    const { provider: other } = await open({ approval: { 'add*': 'never' } })
    expect(other.needsApproval?.('addPet', {}, makeRun())).to.equal(false)
    expect(other.needsApproval?.('upload', {}, makeRun())).to.equal(true)
  })

  it('offers the chosen operations, by names and tags, under a prefix', async () => {
    const names = async (config: object) =>
      (await (await open(config)).provider.listTools(makeRun())).map(({ name }) => name)
    expect(await names({ operations: ['get*', 'tag:writ*'], prefix: 'pets_' })).to.deep.equal([
      'pets_getPet',
      'pets_sendForm',
    ])
    expect(await problemOf(FILES, { operations: ['put*'] })).to.match(
      /^operations: 'put\*' fits no operation of api\.yaml\. Operations: getPet, /,
    )
  })

  it('fills in the variables of a server, and refuses its private address, after resolution too', async () => {
    const { requests, port } = await record()
    const hosts = ['127.0.0.1', 'localhost', '[::1]', '2130706433', '0x7f.1', '017700000001', '0.0.0.0']
    for (const host of [...hosts, '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::]', '169.254.169.254', '[fe80::1]']) {
      const { call } = await open({ variables: { host: `${host}:${port}` }, security: { key: 'k' } })
      const { text, isError } = await call('getPet', { id: '1' })
      expect(isError).to.equal(true)
      expect(text).to.match(
        /^GET http:\/\/\S+\/pets\/\{id\} failed: (\S+|localhost has the address \S+, which) is not public\. .* name it as base_url/,
      )
    }
    expect(requests).to.deep.equal([])
  })

  it('reports errors with their status, and follows no redirect', async () => {
    const missing = await record({ status: 404, body: '{"error":"no such pet"}' })
    const { call } = await open({ base_url: missing.url, security: { key: 'k' } })
    expect(await call('getPet', { id: '1' })).to.deep.equal({
      text: 'HTTP 404: {"error":"no such pet"}',
      isError: true,
    })
    const inner = await record()
    const outer = await record({ status: 302, headers: { location: `${inner.url}?api_key=canary` } })
    const { call: redirected } = await open({ base_url: outer.url, headers: { 'x-app': 'canary' } })
    expect(await redirected('getPet', { id: '1' })).to.deep.equal({
      text: `HTTP 302: the server redirects to ${inner.url}. Redirects are not followed.`,
      isError: true,
    })
    expect(inner.requests).to.deep.equal([])
    const gone = await open({ base_url: 'http://127.0.0.1:1' })
    expect((await gone.call('getPet', { id: '1' })).text).to.match(
      /^GET http:\/\/127\.0\.0\.1:1\/pets\/\{id\} failed: /,
    )
  })

  it('cuts long texts, and hands files over as attachments', async () => {
    const long = await record({ body: 'ä'.repeat(40_000), headers: { 'content-type': 'text/plain' } })
    const { call } = await open({ base_url: long.url })
    const { text } = await call('getPet', { id: '1' })
    expect(text).to.match(/ä\n\n\[cut: the first 65536 of 80000 bytes\]$/)
    const data = Buffer.from([0x89, 0, 255])
    const image = await record({ body: data, headers: { 'content-type': 'image/png' } })
    const { call: fetchImage } = await open({ base_url: image.url })
    expect(await fetchImage('getPet', { id: '1' })).to.deep.equal({
      text: 'The answer is a file of 3 bytes, image/png.',
      attachments: [{ mediaType: 'image/png', data }],
    })
  })

  it('ends a call with its run, and when it takes too long', async () => {
    const server = createServer(() => {})
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const { call } = await open({ base_url: `http://127.0.0.1:${port}`, timeout: 0.05 })
    expect((await call('getPet', { id: '1' })).text).to.match(/failed: The tool 'getPet' took longer than 0.05 s/)
    const run = makeRun()
    const { call: slow } = await open({ base_url: `http://127.0.0.1:${port}` })
    const ended = slow('getPet', { id: '1' }, run).catch((error: Error) => error.message)
    run.abort(new Error('enough'))
    expect(await ended).to.equal('enough')
  })

  it('reads a document at an address that the config names, and none behind a redirect', async () => {
    const document = await record({ body: withPaths({ '/a': { get: { operationId: 'a', responses } } })['api.yaml'] })
    const api = await record()
    const { call } = await open({ document: document.url, base_url: api.url, headers: { 'x-app': 'canary' } })
    await call('a')
    expect(api.requests.map(({ line }) => line)).to.deep.equal(['GET /v1/a'])
    expect(document.requests[0]?.headers).to.not.have.property('x-app')
    const moved = await record({ status: 301, headers: { location: document.url } })
    expect(await problemOf({}, { document: moved.url, base_url: api.url })).to.equal(
      `${moved.url}: the document cannot be fetched: it redirects to ${document.url}. Name that address.`,
    )
    expect(await problemOf({}, { document: document.url })).to.match(/^document: .* needs `base_url`/)
  })

  describe('with a document at an address that is away', () => {
    const closing: (() => unknown)[] = []
    afterEach(async () => {
      for (const close of closing.splice(0)) await close()
    })

    async function openAway(answers: Parameters<typeof record>[0]) {
      const document = await record(answers)
      const missing: (string | undefined)[] = []
      const reports = { reportMissing: (what?: string) => void missing.push(what) }
      const config = { document: document.url, base_url: document.url }
      const { provider, lines } = await open(config, {}, reports)
      closing.push(() => provider[Symbol.asyncDispose]?.())
      const names = async () => (await provider.listTools(makeRun())).map(({ name }) => name)
      return { names, missing, lines, document, provider }
    }
    const body = withPaths({ '/a': { get: { operationId: 'a', responses } } })['api.yaml']

    for (const status of [404, 429, 500, 503]) {
      it(`loads without its tools where the server answers ${status}, and offers them once it is there`, async () => {
        const answers = { status, body: '' }
        const { names, missing, lines, document } = await openAway(answers)
        expect(await names()).to.deep.equal([])
        expect(missing).to.deep.equal(['OpenAPI document'])
        expect(lines).to.deep.equal([
          `warn ${document.url}: the document cannot be fetched: the server answered ${status}. Its tools are missing. Next attempt in 1 s, later ones up to 30 s apart.`,
        ])
        Object.assign(answers, { status: 200, body })
        await eventually(async () => expect(await names()).to.deep.equal(['a']), 5000)
        expect(missing).to.deep.equal(['OpenAPI document', undefined])
        expect(lines.at(-1)).to.equal(`info ${document.url} can be fetched now.`)
      })
    }

    it('goes on trying where the server answers 101', async () => {
      const answers = { status: 503, body: '', headers: { connection: 'upgrade', upgrade: 'x' } }
      const { names, lines, document } = await openAway(answers)
      answers.status = 101
      await eventually(() => expect(lines.at(-1)).to.contain(`${document.url}: the document cannot be fetched: the`))
      await eventually(() => expect(lines.at(-1)).to.contain('the server answered 101.'), 5000)
      Object.assign(answers, { status: 200, body, headers: {} })
      await eventually(async () => expect(await names()).to.deep.equal(['a']), 5000)
    }).timeout(15_000)

    it('goes on trying where no server is there, and where the document that comes is wrong', async () => {
      const document = await record({ body })
      const { port } = document
      await new Promise((resolve) => servers.pop()?.close(resolve))
      const missing: unknown[] = []
      const { provider, lines } = await open(
        { document: document.url, base_url: document.url },
        {},
        {
          reportMissing: (what) => void missing.push(what),
        },
      )
      closing.push(() => provider[Symbol.asyncDispose]?.())
      expect(lines[0]).to.match(
        /^warn http\S+: the document cannot be fetched: connect ECONNREFUSED .*\. Its tools are missing/,
      )
      const answers = { body: '{"swagger":"2.0"}' }
      const server = createServer((_request, reply) => reply.end(answers.body)).listen(port, '127.0.0.1')
      servers.push(server)
      await eventually(() => expect(lines.at(-1)).to.match(/this is Swagger 2\.0/), 5000)
      answers.body = body
      await eventually(async () => expect(await provider.listTools(makeRun())).to.have.lengthOf(1), 8000)
      expect(missing.at(-1)).to.equal(undefined)
    }).timeout(15_000)

    it('stops trying when its agent is closed', async () => {
      const { provider, missing, document } = await openAway({ status: 503, body: '' })
      await provider[Symbol.asyncDispose]?.()
      expect(missing).to.deep.equal(['OpenAPI document', undefined])
      await new Promise((resolve) => setTimeout(resolve, 1300))
      expect(document.requests).to.have.lengthOf(1)
    })

    it('is refused where the server says that it will not come', async () => {
      for (const status of [400, 401, 403, 410]) {
        const { url } = await record({ status, body: '' })
        expect(await problemOf({}, { document: url, base_url: url })).to.equal(
          `${url}: the document cannot be fetched: the server answered ${status}.`,
        )
      }
    })
  })

  it('warns of operations without their secret', async () => {
    const { lines } = await open({ operations: ['getPet'] })
    expect(lines).to.deep.equal(['warn security: no secret is given for getPet: the server may refuse these calls.'])
    expect((await open({ operations: ['getPet'], security: { key: 'x' } })).lines).to.deep.equal([])
  })

  for (const [what, files, problem] of [
    [
      'Swagger 2',
      { 'api.yaml': 'swagger: "2.0"\ninfo: {}\n' },
      /^api\.yaml:1: this is Swagger 2\.0; OpenAPI 3\.0 or 3\.1/,
    ],
    [
      'another version',
      { 'api.yaml': 'info: {}\nopenapi: 3.2.0\n' },
      /^api\.yaml:2: openapi must be 3\.0\.x or 3\.1\.x/,
    ],
    ['no such file', {}, /^api\.yaml: there is no such file\.$/],
    ['broken YAML', { 'api.yaml': 'openapi: 3.1.0\na: [\n' }, /^api\.yaml:[23]: The YAML cannot be read/],
    [
      'an invalid operation',
      {
        'api.yaml': "openapi: 3.0.3\ninfo: { title: t, version: '1' }\npaths:\n  /a:\n    get:\n      responses: {}\n",
      },
      /^api\.yaml:6: must NOT have fewer than 1 properties at paths\.\/a\.get\.responses\.$/,
    ],
    [
      'a reference out of the project',
      withPaths({ '/a': { $ref: '../../etc/passwd' } }),
      /^api\.yaml:9: the reference '\.\.\/\.\.\/etc\/passwd' cannot be followed: \.\.\/\.\.\/etc\/passwd: the file is outside the project folder\.$/,
    ],
    [
      'a parameter of another file that has no place',
      {
        ...withPaths({ '/a': { $ref: 'more.yaml#/a' } }),
        'more.yaml': `a: { get: { parameters: [{ name: q, in: querry }], responses: { '200': { description: ok } } } }`,
      },
      /^more\.yaml: the parameter 'q' is in 'querry'; it must be in path, query, header or cookie\.$/,
    ],
    ['an empty document', { 'api.yaml': '' }, /^api\.yaml:1: openapi must be 3\.0\.x or 3\.1\.x, and is undefined\.$/],
    [
      'a reference to an address',
      withPaths({ '/a': { $ref: 'http://127.0.0.1/x' } }),
      /^api\.yaml:9: the reference 'http:\/\/127\.0\.0\.1\/x' leaves the project\.$/,
    ],
    [
      'a reference that leads to itself',
      { ...withPaths({ '/a': { $ref: 'b.json' } }), 'b.json': '{"$ref":"b.json"}' },
      /^api\.yaml:9: the reference 'b\.json' leads to nothing, or back to itself\.$/,
    ],
    [
      'a reference to nothing',
      withPaths({ '/a': { $ref: '#/components/pathItems/none' } }),
      /^api\.yaml:9: the reference '#\/components\/pathItems\/none' leads to nothing, or back to itself\.$/,
    ],
    [
      'an operationId that is used twice',
      withPaths({ '/a': { get: { operationId: 'x', responses } }, '/b': { get: { operationId: 'x', responses } } }),
      /^api\.yaml:1: The operationId `x` is duplicated and must be made unique\.$/,
    ],
    ['no server', withPaths({ '/a': { get: { responses } } }), /^api\.yaml:1: 'get_a' has no server/],
    [
      'two tools of one name',
      withPaths({ '/a-b': { get: { responses } }, '/a_b': { get: { responses } }, '/a/b': { get: { responses } } }),
      /^api\.yaml:27: GET \/a_b and GET \/a\/b both become the tool 'get_a_b'/,
    ],
  ] as const) {
    it(`refuses ${what}, by file and line`, async () => {
      expect(await problemOf(files as Record<string, string>)).to.match(problem)
    })
  }

  it('refuses addresses with a user name or a password, and shows neither', async () => {
    const server = { servers: [{ url: 'https://ann:canary@api.example' }] }
    for (const [problem, place] of [
      [await problemOf(FILES, { base_url: 'https://ann:canary@api.example' }), 'base_url'],
      [await problemOf(FILES, { base_url: 'https://a.example', document: 'https://canary@a.example/d' }), 'document'],
      [await problemOf(withPaths({ '/a': { get: { responses } } }, server)), "api.yaml:18: the server of 'get_a'"],
    ] as const) {
      expect(problem).to.include(place).and.to.include('a user name or a password').and.not.to.include('canary')
    }
  })

  it('refuses a path that would change the host, and a pipe in the place of a document', async () => {
    const other = withPaths({ '@evil.example/a': { get: { responses } } }, { servers: [{ url: 'https://a.example' }] })
    expect(await problemOf(other)).to.match(
      /^api\.yaml:1: Entries in the OpenAPI `paths` object must begin with a leading slash/,
    )
    const { dir, path } = await makeProject()
    await promisify(execFile)('mkfifo', [path('api.yaml')])
    const context = makeContext({ projectDir: dir })
    const config = Value.Parse(openapi.config, Value.Default(openapi.config, { document: 'api.yaml' }))
    const problem = await Promise.resolve(openapi.create({}, config, context)).catch((error: Error) => error.message)
    expect(problem).to.equal('api.yaml: it is not a regular file.')
  })

  it('says where a reference has a broken escape, and where a document is nested too deeply', async () => {
    const paths = (reference: string) => ({ '/a': { get: { responses: { 200: { $ref: reference } } } } })
    for (const [reference, reason] of [
      ['b%zz.yaml#/x', 'has a broken escape.'],
      ['#/components/%zz', 'leads to nothing, or back to itself.'],
    ] as const)
      expect(await problemOf(withPaths(paths(reference)))).to.equal(
        `api.yaml:12: the reference '${reference}' ${reason}`,
      )
    const files = { ...withPaths(paths('b.yaml#/x')), 'b.yaml': 'x: { $ref: "c.yaml#/%zz" }\n', 'c.yaml': 'x: {}\n' }
    expect(await problemOf(files)).to.match(/the reference 'c\.yaml#\/%zz' points at nothing|leads to nothing/)
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    expect(await problemOf({ 'api.yaml': `{\n"openapi": "3.1.0",\n"x": ${deep}}` })).to.equal(
      'api.yaml:3: the document is nested deeper than 500 levels.',
    )
    expect(await problemOf({ 'api.yaml': `openapi: 3.1.0\nx: ${deep}\n` })).to.equal(
      'api.yaml:2: The YAML cannot be read: it is nested too deeply here',
    )
  })

  describe('with 400 operations over one schema that refers to many others', () => {
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
    const object = (properties: object) => ({ type: 'object', properties })
    const keyed = <T>(count: number, letter: string, make: (name: string) => T) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${letter}${at}`, make(`${letter}${at}`)]))
    const paths = Object.fromEntries(
      Object.entries(keyed(400, 'o', (operationId) => operationId)).map(([path, operationId]) => {
        const requestBody = { content: { 'application/json': { schema: ref('all') } } }
        return [`/${path}`, { post: { operationId, requestBody, responses } }]
      }),
    )
    const large = (count: number, text: object = { type: 'string' }) => {
      const schemas = {
        all: object(keyed(count, 's', ref)),
        ...keyed(count, 's', () => object({ a: text })),
      }
      return withPaths(paths, { servers: [{ url: 'http://127.0.0.1:9' }], components: { schemas } })
    }

    /** The longest time in which nothing else had its turn. The parser of documents has its part in it. */
    async function longestMs(act: () => Promise<unknown>): Promise<number> {
      let [last, longest] = [performance.now(), 0]
      const look = () => {
        longest = Math.max(longest, performance.now() - last)
        last = performance.now()
      }
      const ticks = setInterval(look, 10)
      await act().finally(() => clearInterval(ticks))
      look()
      return longest
    }

    it('reads the arguments of those alone that are chosen', async () => {
      const files = large(2000)
      const took = await longestMs(async () => {
        const { provider } = await open({ operations: ['o1'] }, files)
        const [tool, ...others] = await provider.listTools(makeRun())
        expect([tool?.name, others.length]).to.deep.equal(['o1', 0])
        expect(Object.keys(fieldsOf(fieldsOf(tool?.parameters).$defs)).length).to.equal(2001)
      })
      expect(took).to.be.below(5000)
      const { dir } = await makeProject(files)
      const document = await OpenApiDocument.load('api.yaml', makeContext({ projectDir: dir }), fetch as GuardedFetch)
      const started = performance.now()
      const [outline] = listOperations(document)
      if (outline) readOperation(document, outline, { left: 10_000 })
      expect(performance.now() - started).to.be.below(500)
    })

    it('refuses all of them by a sentence, before all are read', async () => {
      const took = await longestMs(async () =>
        expect(await problemOf(large(2000))).to.equal(
          'operations: the chosen operations of api.yaml have more than 100000 schemas in their arguments. Choose fewer.',
        ),
      )
      expect(took).to.be.below(5000)
    })

    it('refuses a pattern that is none in JavaScript, though its check is built later', async () => {
      for (const text of [{ pattern: '(?i)x' }, { patternProperties: { '(?i)x': {} } }]) {
        expect(await problemOf(large(150, text))).to.include('Invalid regular expression: /(?i)x/u')
      }
    })

    it('checks the arguments of a call by a large schema, too', async () => {
      const { requests, url } = await record()
      const { call } = await open({ operations: ['o1'], base_url: url }, large(150))
      expect((await call('o1', { body: { s149: { a: 'x' } } })).text).to.equal('{"ok":true}')
      expect(requests.map(({ line, body }) => [line, body])).to.deep.equal([['POST /v1/o1', '{"s149":{"a":"x"}}']])
      expect(await call('o1', { body: { s149: { a: [] } } }).catch((error: Error) => error.message)).to.match(
        /^Wrong arguments for 'o1': body\.s149/,
      )
      expect(requests.length).to.equal(1)
    })
  })

  it('refuses a document of 20 MB, and secrets of unknown schemes', async () => {
    const large = { 'api.yaml': `{"openapi":"3.1.0","x":"${'x'.repeat(20_000_000)}"}` }
    expect(await problemOf(large)).to.match(/^api\.yaml: it has more than 8388608 bytes\.$/)
    const { url } = await record({ body: large['api.yaml'] })
    expect(await problemOf({}, { document: url, base_url: url })).to.equal(
      `${url}: the document cannot be fetched: the server answered more than 10 MiB.`,
    )
    expect(await problemOf(FILES, { security: { nothing: 'x' } })).to.match(
      /^api\.yaml:\d+: there is no security scheme 'nothing'\. Schemes: key, login\.$/,
    )
  })
})
