import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { describeWith } from '../support/describe-with.ts'
import { eventually } from '../support/eventually.ts'
import { type Json, textOf } from '../support/responses.ts'
import { chat, closeServers, makeServer } from '../support/server.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'
import { makeSharedProject, removeFolder, type TempProject } from '../support/temp-project.ts'
import { PROMPTED, VARIED_PROJECT } from '../support/varied.ts'

const KINDS = [
  { name: 'SQLite', isThere: true, startServer: undefined },
  { name: 'PostgreSQL', isThere: hasPostgres(), startServer: startPostgres },
  { name: 'Redis', isThere: hasRedis(), startServer: startRedis },
]
const OWN = { origin: 'http://localhost:80' }
const PAID = 'Be short.|small|-|http://127.0.0.1:1|kind|paid'
const TEMPERED = [{ module: 'llm', path: ['temperature'], value: 1 }]

for (const { name, isThere, startServer } of KINDS) {
  describeWith(name, isThere, `waiting runs of variants, on ${name}`, () => {
    let server: StoreServer | undefined
    let project: TempProject

    before(async () => {
      server = await startServer?.()
      project = await makeSharedProject(VARIED_PROJECT)
    })
    after(async () => {
      await server?.remove()
      await removeFolder(project.dir)
    })
    afterEach(closeServers)

    const serve = async (options: Partial<ServerOptions>) => {
      const { app } = await makeServer({
        adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter'],
        projectDir: project.dir,
        ...(server ? { store: server.url } : {}),
        ...options,
      })
      return async (method: 'GET' | 'POST', url: string, payload?: object, headers: Record<string, string> = {}) => {
        const reply = await app.inject({ method, url, headers, ...(payload ? { payload } : {}) })
        return reply.json() as Json
      }
    }
    const makeVariant = async (one: Awaited<ReturnType<typeof serve>>, changes: object) => {
      const made = await one('POST', '/api/ui/variants', { agent_id: 'talker', changes }, OWN)
      return { 'x-agent-variant': made.id }
    }
    const textAfter = async (ask: Awaited<ReturnType<typeof serve>>, id: string) => {
      let record: Json
      await eventually(async () => {
        record = await ask('GET', `/v1/responses/${id}`)
        expect(record.status).to.equal('completed')
      })
      return textOf(record)
    }

    it('go on with their values on a server that knows nothing of the variant', async () => {
      const one = await serve({ development: true, debug: true, noWorker: true })
      const other = await serve({})
      const headers = await makeVariant(one, PROMPTED)
      const asked: Record<string, Json> = {
        waiting: await one('POST', '/v1/responses', { model: 'talker', input: 'pay' }, headers),
        chat: await one('POST', '/v1/chat/completions', chat('talker', 'pay'), headers),
      }
      expect(asked.chat.choices[0].message.content).to.contain('Waiting for approval of pay')
      const paying = await one('POST', '/v1/responses', { model: 'talker', input: 'pay' }, headers)
      const { id: approval_request_id } = paying.output[0]
      const input = [{ type: 'mcp_approval_response', approval_request_id, approve: true }]
      expect(textOf(await other('POST', '/v1/responses', { model: 'talker', input }))).to.equal(PAID)
      const { data } = await other('GET', '/v1/approvals?status=pending')
      expect(data).to.have.length(2)
      for (const { id } of data) {
        const decided = await other('POST', `/v1/approvals/${id}`, { decision: 'approve' })
        expect(await textAfter(other, decided.continued_by)).to.equal(PAID)
      }
      const queued = await one('POST', '/v1/responses', { model: 'talker', input: 'hi', background: true }, headers)
      expect(await textAfter(one, queued.id)).to.equal(PAID.replace('paid', 'hi'))
      expect(queued).to.not.have.property('variant')
    })

    it('end with the reason when the agent no longer allows their values', async () => {
      const one = await serve({ development: true, debug: true, noWorker: true })
      const headers = await makeVariant(one, TEMPERED)
      const { id } = await one('POST', '/v1/responses', { model: 'talker', input: 'hi', background: true }, headers)
      const strict = VARIED_PROJECT['modules/told.ts'].replace('temperature: Type', 'warmth: Type')
      await project.write('modules/told.ts', strict)
      const other = await serve({ debug: true })
      try {
        await eventually(async () => expect((await other('GET', `/v1/responses/${id}`)).status).to.equal('failed'))
        const { error } = await other('GET', `/v1/responses/${id}`)
        expect(error.message).to.contain("module 'llm' (told), config: temperature may not be changed by a variant.")
      } finally {
        await project.write('modules/told.ts', VARIED_PROJECT['modules/told.ts'])
      }
    })

    it('go on in the connection of an MCP client', async () => {
      const one = await serve({ development: true, debug: true })
      const headers = {
        ...(await makeVariant(one, PROMPTED)),
        'mcp-protocol-version': '2026-07-28',
        accept: 'application/json, text/event-stream',
        'mcp-method': 'tools/call',
        'mcp-name': 'talker',
      }
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
      }
      const call = async (more: object) => {
        const params = { name: 'talker', arguments: { message: 'pay' }, _meta, ...more }
        return (await one('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers)).result
      }
      const { requestState } = await call({})
      const inputResponses = { call_1: { action: 'accept', content: {} } }
      expect((await call({ requestState, inputResponses })).content[0].text).to.equal(PAID)
    })
  })
}
