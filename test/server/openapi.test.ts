import swagger from '@fastify/swagger'
import { Validator } from '@seriousme/openapi-schema-validator'
import { agentHost, type ServerOptions } from 'agent-host'
import { expect } from 'chai'
import fastify from 'fastify'
import { Value } from 'typebox/value'
import { CLIENT_TOOLS_PROJECT } from '../support/client-tools.ts'
import { OpenapiDocument } from '../support/openapi-document.ts'
import { type Json, RESPONSES_PROJECT } from '../support/responses.ts'
import { AGENTS, chat, closeServers, makeServer } from '../support/server.ts'
import { makeProject } from '../support/temp-project.ts'

const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter', 'UiApiAdapter']
const KEYS = { compatApiKey: 'k-chat', responsesApiKey: 'k-responses', mcpApiKey: 'k-mcp' }
const ALL = { adapters: ADAPTERS, metrics: true }

describe('GET /openapi.json', () => {
  afterEach(closeServers)

  async function readDocument(options: Partial<ServerOptions> = ALL): Promise<Json> {
    const { app } = await makeServer(options)
    const answer = await app.inject('/openapi.json')
    expect([answer.statusCode, answer.headers['content-type']]).to.deep.equal([200, 'application/json; charset=utf-8'])
    return answer.json()
  }

  it('is OpenAPI 3.1, and names no host', async () => {
    const document = await readDocument()
    const { valid, errors } = await new Validator().validate(structuredClone(document))
    expect([valid, errors]).to.deep.equal([true, undefined])
    expect([document.openapi, document.servers]).to.deep.equal(['3.1.0', [{ url: '/' }]])
  })

  it('describes every route of the server', async () => {
    const project = await makeProject(AGENTS)
    const app = fastify()
    const routes: string[] = []
    app.addHook('onRoute', ({ method, url, schema }) => {
      const isHidden = (schema as { hide?: boolean } | undefined)?.hide === true
      if (method !== 'HEAD' && !isHidden)
        routes.push(`${method} ${url.replace(/:(\w+)/g, '{$1}').replace('*', '{model}')}`)
    })
    await app.register(agentHost, { projectDir: project.dir, ...KEYS, ...ALL })
    const document = (await app.inject('/openapi.json')).json()
    await app.close()
    expect(new OpenapiDocument(document).operations.sort()).to.deep.equal(routes.sort())
    const operations: Json[] = Object.values<Json>(document.paths).flatMap((item) => Object.values(item))
    const bare = operations.filter(
      ({ operationId, summary, responses }) => !(operationId && summary && responses['200'].content),
    )
    expect(bare).to.deep.equal([])
    expect(new Set(operations.map(({ operationId }) => operationId)).size).to.equal(operations.length)
  })

  it('names the parameter that stands in the path as `*`', async () => {
    const { paths } = await readDocument()
    const names = (path: string) => paths[path].get.parameters.map(({ name, in: place }: Json) => [name, place])
    expect(names('/v1/models/{model}')).to.deep.equal([['model', 'path']])
    expect(names('/compat/models/{model}')).to.deep.equal([['model', 'path']])
  })

  it('says which key a route requires, and requires none itself', async () => {
    const { paths } = await readDocument({ ...ALL, ...KEYS })
    const keyOf = (path: string) => paths[path].post.security
    expect(keyOf('/v1/chat/completions')).to.deep.equal([{ chatKey: [] }])
    expect(keyOf('/compat/responses')).to.deep.equal([{ responsesKey: [] }])
    expect(keyOf('/mcp')).to.deep.equal([{ mcpKey: [] }])
    expect(paths['/openapi.json'].get.security).to.deep.equal([])
    expect((await readDocument()).paths['/mcp'].post.security).to.deep.equal([])
  })

  it('requires a body where the server does, and allows none that is always refused', async () => {
    const { app } = await makeServer(ALL)
    const { paths, components } = (await app.inject('/openapi.json')).json()
    const bodyOf = (path: string) => paths[path].post.requestBody
    const refused: [path: string, body: object][] = [
      ['/chat/completions', { model: 'echo', messages: [] }],
      ['/responses', { model: 'echo', input: [] }],
      ['/responses', { model: 'echo', input: '' }],
      ['/responses', { model: '', input: 'x' }],
      ['/responses', { model: 'echo', input: [{}] }],
      ['/conversations', { items: [{}] }],
      ['/approvals/{id}', { decision: 'edit' }],
      ['/approvals/{id}', { decision: 'edit', arguments: null }],
      ['/approvals/{id}', { decision: 'answer' }],
    ]
    for (const prefix of ['/v1', '/compat']) {
      expect([bodyOf(`${prefix}/conversations`).required, bodyOf(`${prefix}/responses`).required]).to.deep.equal([
        false,
        true,
      ])
      expect((await app.inject({ method: 'POST', url: `${prefix}/conversations` })).statusCode).to.equal(200)
      for (const [path, payload] of refused) {
        const { $ref, ...own } = bodyOf(prefix + path).content['application/json'].schema
        const schema = $ref === undefined ? own : components.schemas[$ref.split('/').at(-1)]
        expect(Value.Check(schema, payload), JSON.stringify(payload)).to.equal(false)
        const { statusCode } = await app.inject({ method: 'POST', url: prefix + path, payload })
        expect(statusCode, JSON.stringify(payload)).to.equal(400)
      }
    }
  })

  it('omits routes that are not served', async () => {
    const { paths } = await readDocument({ adapters: ['ChatCompatApiAdapter'], noV1: true })
    expect(Object.keys(paths).sort()).to.deep.equal([
      '/compat/chat/completions',
      '/compat/models',
      '/compat/models/{model}',
      '/openapi.json',
    ])
  })

  it('describes an adapter of the project by its Fastify schemas', async () => {
    const project = await makeProject({
      ...AGENTS,
      'adapters/plain.ts': `export class PlainAdapter { adapt(app) {
        app.get('/plain/:agent', { schema: { summary: 'Plain', querystring: { type: 'object', properties: { loud: { type: 'boolean' } } } } }, () => 'plain')
      } }`,
    })
    const { paths } = await readDocument({ projectDir: project.dir, adapters: ['adapters.plain.PlainAdapter'] })
    const { summary, parameters } = paths['/plain/{agent}'].get
    expect([summary, parameters.map(({ name }: Json) => name)]).to.deep.equal(['Plain', ['loud', 'agent']])
  })

  it('is served under the prefix of an app with a document of its own', async () => {
    const project = await makeProject(AGENTS)
    const app = fastify()
    await app.register(swagger, { openapi: { openapi: '3.1.0' } })
    app.register(agentHost, { prefix: '/agents', projectDir: project.dir, adapters: ['ChatCompatApiAdapter'] })
    const { paths } = (await app.inject('/agents/openapi.json')).json()
    await app.close()
    expect(Object.keys(paths)).to.include('/agents/v1/chat/completions')
  })

  for (const prefix of ['/v1', '/compat']) {
    it(`matches answers under ${prefix}`, async () => {
      const { call, problems } = await makeCaller()
      for (const stream of [false, true]) {
        await call(
          'POST',
          `${prefix}/chat/completions`,
          chat('echo', 'hi', { stream, stream_options: { include_usage: true } }),
        )
        await call('POST', `${prefix}/chat/completions`, {
          ...chat('tools', 'weather Lima', { stream }),
          ...CHAT_TOOLS,
        })
        await call('POST', `${prefix}/chat/completions`, chat('nobody', 'hi', { stream }))
        await call('POST', `${prefix}/chat/completions`, chat('talk', 'fail-after', { stream }))
        for (const input of ['say hi', 'limit', 'fail-after']) {
          await call('POST', `${prefix}/responses`, { model: 'talk', input, stream })
        }
        await call('POST', `${prefix}/responses`, { model: 'tools', input: 'weather Lima own Lima', stream, ...TOOLS })
        await call('POST', `${prefix}/responses`, { model: 'nobody', input: 'hi', stream })
        await call('POST', `${prefix}/responses`, { model: 'model', input: 'hi', stream, ...EXTRAS })
      }
      await call('POST', `${prefix}/chat/completions`, { messages: 3 })
      await call('GET', `${prefix}/models`)
      await call('GET', `${prefix}/models/echo`)
      await call('GET', `${prefix}/models/nobody`)
      const { id } = await call('POST', `${prefix}/responses`, { model: 'talk', input: 'say hi', background: true })
      await call('GET', `${prefix}/responses/${id}`)
      await call('GET', `${prefix}/responses/${id}?stream=true`)
      await call('GET', `${prefix}/responses/${id}/input_items`)
      await call('GET', `${prefix}/responses/${id}/input_items?limit=0`)
      await call('GET', `${prefix}/responses?limit=2`)
      await call('POST', `${prefix}/responses/${id}/cancel`)
      await call('DELETE', `${prefix}/responses/${id}`)
      await call('DELETE', `${prefix}/responses/${id}`)
      expect(problems).to.deep.equal([])
    })

    it(`matches approvals under ${prefix}`, async () => {
      const { call, problems } = await makeCaller()
      await call('POST', `${prefix}/responses`, { model: 'tools', input: 'pay Lima' })
      const { data } = await call('GET', `${prefix}/approvals`)
      await call('GET', `${prefix}/approvals/${data[0].id}`)
      await call('GET', `${prefix}/approvals/nothing`)
      const decided = await call('POST', `${prefix}/approvals/${data[0].id}`, { decision: 'approve' })
      expect(decided.status).to.equal('approved')
      await call('POST', `${prefix}/approvals/${data[0].id}`, { decision: 'reject' })
      expect(problems).to.deep.equal([])
    })
  }

  it('matches answers without a key', async () => {
    const { call, problems } = await makeCaller({ authorization: 'Bearer wrong' })
    await call('POST', '/v1/chat/completions', chat('echo', 'hi'))
    await call('GET', '/compat/models')
    await call('POST', '/compat/responses', { model: 'talk', input: 'hi' })
    await call('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' })
    expect(problems).to.deep.equal([])
  })

  it('matches MCP, the debug UI and metrics', async () => {
    const { call, problems } = await makeCaller({ authorization: 'Bearer k-mcp' })
    await call('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' })
    await call('POST', '/mcp', { jsonrpc: '2.0', id: 'a', method: 'nothing' })
    await call('POST', '/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' })
    await call('POST', '/mcp', 'text')
    await call('POST', '/api/ui/graphql', { query: '{ list_agents { id } }' })
    await call('POST', '/api/ui/graphql', { query: '{ nothing }' })
    await call('GET', '/metrics')
    await call('GET', '/openapi.json')
    expect(problems).to.deep.equal([])
  })

  /** Sends requests, and collects what does not fit the document. */
  async function makeCaller(headers: Record<string, string> = { authorization: 'Bearer k' }) {
    const keys =
      headers.authorization === 'Bearer k-mcp' ? KEYS : { compatApiKey: 'k', responsesApiKey: 'k', mcpApiKey: 'k' }
    const { app } = await makeServer({ ...ALL, ...keys }, { ...RESPONSES_PROJECT, ...CLIENT_TOOLS_PROJECT })
    const document = new OpenapiDocument((await app.inject('/openapi.json')).json())
    const problems: string[] = []
    const call = async (method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object | string): Promise<Json> => {
      const answer = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
      problems.push(...document.findProblems(method, url, answer))
      return String(answer.headers['content-type']).startsWith('application/json') ? answer.json() : undefined
    }
    return { call, problems }
  }
})

const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const CHAT_TOOLS = { tools: [{ type: 'function', function: { name: 'weather', parameters } }] }
const TOOLS = { tools: [{ type: 'function', name: 'weather', parameters }], include: ['agent.tool_calls'] }
const EXTRAS = {
  instructions: 'Be brief',
  reasoning: { effort: 'low' },
  text: { format: { type: 'text' } },
  metadata: { a: 'b' },
  max_output_tokens: 9,
  user: 'u',
}
