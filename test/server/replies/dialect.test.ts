import { expect } from 'chai'
import { chat, closeServers, makeServer, readEvents } from '../../support/server.ts'

const BOTH = { adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter'] }

describe('the dialects', () => {
  afterEach(closeServers)

  const makeInject = async (options = {}) => {
    const { app } = await makeServer({ ...BOTH, ...options })
    return (url: string, payload?: object, headers = {}) =>
      app.inject({ url, headers, ...(payload ? { method: 'POST' as const, payload } : {}) })
  }

  const problem = (message: string, type: string, param: string | null, code: string | null) => ({
    error: { message, type, param, code },
    detail: message,
  })

  it('report the same errors: a detail under /compat, the format of vendor SDKs under /v1', async () => {
    const inject = await makeInject()
    const field = "messages[0].role must be one of 'system', 'developer', 'user', 'assistant' and 'tool'."
    const body = { model: 'echo', messages: [{ role: 'usr', content: 'x' }] }
    expect((await inject('/compat/chat/completions', body)).json()).to.deep.equal({ detail: field })
    const refused = await inject('/v1/chat/completions', body)
    expect([refused.statusCode, refused.json()]).to.deep.equal([
      400,
      problem(field, 'invalid_request_error', 'messages[0].role', null),
    ])
    const failed = await inject('/v1/chat/completions', chat('probe', 'fail'))
    expect([failed.statusCode, failed.headers['x-should-retry'], failed.json()]).to.deep.equal([
      500,
      'false',
      problem('Agent execution failed', 'server_error', null, 'server_error'),
    ])
    expect((await inject('/v1/responses/resp_x')).json()).to.deep.equal(
      problem('Response not found', 'invalid_request_error', null, 'not_found'),
    )
    expect((await inject('/v1/nothing')).json()).to.deep.equal(
      problem('Not Found', 'invalid_request_error', null, 'not_found'),
    )
    expect((await inject('/v1/models', {})).json()).to.deep.equal(
      problem('Method Not Allowed', 'invalid_request_error', null, 'method_not_allowed'),
    )
  })

  it('suggest the nearest model under /v1, with 404', async () => {
    const inject = await makeInject()
    const unknown = {
      error: {
        message: "There is no agent 'ecko'. Did you mean 'echo'?",
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      },
      detail: 'model not found',
    }
    const answers = [
      await inject('/v1/chat/completions', chat('ecko', 'x')),
      await inject('/v1/responses', { model: 'ecko', input: 'x' }),
      await inject('/v1/models/ecko'),
    ]
    for (const answer of answers) expect([answer.statusCode, answer.json()]).to.deep.equal([404, unknown])
    expect((await inject('/v1/models/desk/sale')).json().error.message).to.contain("'desk/sales'")
    expect((await inject('/compat/chat/completions', chat('ecko', 'x'))).statusCode).to.equal(400)
  })

  it('describe models, and list entry points, under /v1', async () => {
    const inject = await makeInject()
    const capabilities = { tools: false, reasoning: false, images: false, audio: false, files: false }
    const described = { id: 'echo', object: 'model', created: 0, owned_by: 'agent-host', description: 'Says it again' }
    expect((await inject('/v1/models/echo')).json()).to.deep.equal({ ...described, capabilities })
    const { data } = (await inject('/v1/models')).json() as {
      data: { id: string; capabilities: { tools: boolean; reasoning: boolean } }[]
    }
    expect(data.map(({ id, capabilities: { tools, reasoning } }) => [id, tools, reasoning])).to.deep.equal([
      ['desk', false, false],
      ['desk/support', false, false],
      ['desk/sales', false, false],
      ['echo', false, false],
      ['model', true, true],
      ['probe', false, false],
    ])
    expect(data[3]).to.deep.equal({ ...described, capabilities })
  })

  it('require the same keys', async () => {
    const inject = await makeInject({ compatApiKey: 'chat-key', responsesApiKey: 'responses-key' })
    const refused = await inject('/v1/chat/completions', chat('echo', 'x'), { authorization: 'Bearer responses-key' })
    expect([refused.statusCode, refused.headers['www-authenticate'], refused.json()]).to.deep.equal([
      401,
      'Bearer',
      problem('Invalid API key', 'authentication_error', null, 'invalid_api_key'),
    ])
    const accepted = await inject(
      '/v1/responses',
      { model: 'echo', input: 'x' },
      { authorization: 'Bearer responses-key' },
    )
    expect(accepted.statusCode).to.equal(200)
  })

  it('can be reduced to /compat', async () => {
    const inject = await makeInject({ noV1: true })
    const answer = await inject('/v1/models')
    expect([answer.statusCode, answer.json()]).to.deep.equal([404, { detail: 'Not Found' }])
    expect((await inject('/compat/models')).statusCode).to.equal(200)
  })

  describe('of stored responses', () => {
    const LIMITED = {
      'agents/limited.yml': 'id: limited\nmodules: [{ id: main, module: limited }]',
      'modules/limited.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Limited', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(_text, run) { await response.respondText('half'); run.markIncomplete('max_output_tokens') } }) })`,
    }

    it('name each event in an event: line under /v1', async () => {
      const inject = await makeInject()
      const body = { model: 'echo', input: 'hi', stream: true }
      const [plain, named] = [await inject('/compat/responses', body), await inject('/v1/responses', body)]
      expect(plain.body).not.to.contain('event:')
      const blocks = named.body.split('\n\n').filter((block) => block !== '' && block !== 'data: [DONE]')
      const names = blocks.map((block) => /^event: (\S+)\ndata: \{"type":"\1",/.exec(block)?.[1])
      expect(names).to.deep.equal((readEvents(plain.body).slice(0, -1) as { type: string }[]).map(({ type }) => type))
    })

    it('have the status incomplete for an interrupted answer under /v1', async () => {
      const { app } = await makeServer(BOTH, LIMITED)
      const create = async (prefix: string, more = {}) =>
        app.inject({ method: 'POST', url: `${prefix}/responses`, payload: { model: 'limited', input: 'x', ...more } })
      const { id, status, incomplete_details } = (await create('/v1')).json()
      expect([status, incomplete_details]).to.deep.equal(['incomplete', { reason: 'max_output_tokens' }])
      const statusUnder = async (prefix: string) => (await app.inject(`${prefix}/responses/${id}`)).json().status
      expect([await statusUnder('/v1'), await statusUnder('/compat')]).to.deep.equal(['incomplete', 'completed'])
      const { body } = await create('/v1', { stream: true })
      expect(body).to.match(/event: response\.incomplete\ndata: .*"status":"incomplete"/)
      expect((await create('/compat', { stream: true })).body).to.contain('"type":"response.completed"')
    })

    it('have the status completed while they wait, also when the limit was reached before', async () => {
      const reply = '{ tool_calls: [{ name: weather, arguments: {} }], finish: length }'
      const { app } = await makeServer(BOTH, {
        'agents/caller.yml': `id: caller
modules:
  - { id: llm, module: llm/mock, config: { replies: [${reply}] } }
  - { id: loop, module: orchestrator/tool-loop }`,
      })
      const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object' } }]
      for (const prefix of ['/v1', '/compat']) {
        const payload = { model: 'caller', input: 'x', tools }
        const { status, incomplete_details } = (
          await app.inject({ method: 'POST', url: `${prefix}/responses`, payload })
        ).json()
        expect([prefix, status, incomplete_details]).to.deep.equal([prefix, 'completed', null])
      }
    })

    it('start as queued in the background under /v1', async () => {
      const inject = await makeInject()
      const body = { model: 'probe', input: 'wait 20', background: true }
      expect((await inject('/v1/responses', body)).json().status).to.equal('queued')
      expect((await inject('/compat/responses', body)).json().status).to.equal('in_progress')
    })
  })
})
