import { setTimeout as wait } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { makeMcp } from '../../support/mcp.ts'
import { closeServers } from '../../support/server.ts'

const FILES = {
  'agents/shop.yml': `id: shop
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [
      { text: '', tool_calls: [{ name: pay, arguments: { amount: 40 } }] }, { text: Done. } ] } }
  - { id: tools, module: pay }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/teller.yml': `id: teller
conversation: true
expose: [conversations]
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [ { text: Hello Ada. },
      { text: '', tool_calls: [{ name: pay, arguments: { amount: 40 } }] }, { text: Done. } ] } }
  - { id: tools, module: pay }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/clerk.yml': `id: clerk
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [
      { text: '', tool_calls: [{ name: size, arguments: {} }] }, { text: Done. } ] } }
  - { id: tools, module: pay }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/twice.yml': `id: twice
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [
      { text: '', tool_calls: [{ id: call_0, name: pay, arguments: { amount: 1 } }] },
      { text: '', tool_calls: [{ id: call_0, name: pay, arguments: { amount: 2 } }] },
      { text: '', tool_calls: [{ id: call_0, name: size, arguments: {} }, { id: call_0, name: size, arguments: {} }] }, { text: Done. } ] } }
  - { id: tools, module: pay }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/measured.yml': `id: measured
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [
      { text: '', tool_calls: [{ name: measure, arguments: {} }] }, { text: Done. } ] } }
  - { id: tools, module: pay }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/painter.yml': `id: painter
modules: [{ id: tools, module: pay }, { id: main, module: paint }]`,
  'modules/paint.ts': `import { ConversationHistory, defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Paint', provides: [TextMessageHandler],
  uses: { tools: many(ToolProvider), history: ConversationHistory, response: Response },
  create: ({ tools, history, response }) => ({ async handleText(_, run) {
    const isPaid = (await history.getHistory()).some(({ role }) => role === 'tool')
    if (!isPaid) return void (await tools[0].executeTool('pay', { amount: 3 }, run.with({ toolCallId: 'call_1' })))
    await response.respondText('Here.')
    await response.respondImage({ mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) })
  } }) })`,
  'modules/pay.ts': `import { defineModule, ToolProvider } from 'agent-host'
const paid = (globalThis.mcpPaid ??= [])
const parameters = { type: 'object', properties: { amount: { type: 'number' } } }
export default defineModule({ name: 'Pay', provides: [ToolProvider], create: () => ({
  listTools: () => ['pay', 'size', 'measure'].map((name) => ({ name, description: name, parameters })),
  needsApproval: (name) => name === 'pay',
  async executeTool(name, args, run) {
    if (name === 'size') args = { amount: await run.ask({ message: 'Which size?', schema: { type: 'number' } }) }
    if (name === 'measure') {
      const sides = []
      for (const side of ['long', 'wide', 'high']) sides.push(await run.ask({ message: 'How ' + side + '?', schema: { type: 'number' } }))
      args = { amount: sides.join(' x ') }
    }
    paid.push(args.amount)
    return { text: 'ok' }
  } }) })`,
}

function paid(): unknown[] {
  const globals = globalThis as { mcpPaid?: unknown[] }
  globals.mcpPaid ??= []
  return globals.mcpPaid
}

type Reply = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, unknown> }

const INFO = { name: 'test', version: '1.0.0' }
const PAY = { message: 'pay' }
const ELICITATION = { elicitation: { form: {} } }
interface Approval {
  readonly created_at: number
  readonly expires_at: number
}

const BOTH = ['McpApiAdapter', 'ResponsesCompatApiAdapter']

/** Approves the call that has waited longest, in the inbox. */
async function approveFirst(app: Awaited<ReturnType<typeof makeMcp>>['app']): Promise<void> {
  const { data } = (await app.inject('/compat/approvals?order=asc')).json<{ data: { id: string }[] }>()
  const url = `/compat/approvals/${data[0]?.id}`
  expect((await app.inject({ method: 'POST', url, payload: { decision: 'approve' } })).statusCode).to.equal(200)
}

type OnQuestion = (params: unknown) => Reply | Promise<Reply>

/** Accepts, with what the form has fields for. */
function fillForm(params: unknown): Reply {
  const { message } = params as { readonly message: string }
  return { action: 'accept', content: message === 'Which size?' ? { answer: 42 } : {} }
}

/** Client of one line and era. Without `onQuestion` its user cannot be asked. */
type Connect = (url: URL, onQuestion: OnQuestion | undefined, headers?: Record<string, string>) => Promise<ClientCall>
interface ClientCall {
  readonly version: string | undefined
  call(
    name: string,
    signal?: AbortSignal,
    args?: Record<string, string>,
  ): Promise<{ content: unknown; isError?: unknown }>
  close(): Promise<void>
}

const connectFirst: Connect = async (url, onQuestion, headers = {}) => {
  const client = new FirstClient(INFO, { capabilities: onQuestion ? ELICITATION : {} })
  if (onQuestion) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => (await onQuestion(params)) as never)
  }
  const transport = new FirstTransport(url, { requestInit: { headers } })
  await client.connect(transport as Parameters<FirstClient['connect']>[0])
  return {
    version: transport.protocolVersion,
    call: async (name, signal, args = PAY) => {
      const options = signal ? { signal } : {}
      const { content, isError } = await client.callTool({ name, arguments: args }, undefined, options)
      return { content, isError }
    },
    close: () => client.close(),
  }
}

const connectSecond =
  (mode?: 'auto'): Connect =>
  async (url, onQuestion, headers = {}) => {
    const capabilities = onQuestion ? ELICITATION : {}
    const client = new Client(INFO, { capabilities, ...(mode ? { versionNegotiation: { mode } } : {}) })
    if (onQuestion)
      client.setRequestHandler('elicitation/create', async ({ params }) => (await onQuestion(params)) as never)
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
    return {
      version: client.getNegotiatedProtocolVersion(),
      call: (name, signal, args = PAY) => client.callTool({ name, arguments: args }, signal ? { signal } : {}),
      close: () => client.close(),
    }
  }

const CLIENTS = [
  ['sdk 1', '2025-11-25', connectFirst],
  ['client 2', '2025-11-25', connectSecond()],
  ['client 2 that looks for the newest version', '2026-07-28', connectSecond('auto')],
] as const

for (const [title, version, connect] of CLIENTS) {
  describe(`a call over MCP that waits for a person, by ${title}`, () => {
    beforeEach(() => {
      paid().length = 0
    })
    afterEach(closeServers)

    /** Calls a tool; the user answers in this way. */
    async function callWith(
      reply: Reply | ((params: unknown) => Reply) | undefined,
      name: string,
      options: Partial<ServerOptions> = {},
      headers = {},
    ) {
      const { listen } = await makeMcp(options, FILES)
      const asked: unknown[] = []
      const onQuestion = (params: unknown) => {
        asked.push(params)
        return typeof reply === 'function' ? reply(params) : (reply as Reply)
      }
      const client = await connect(new URL('/mcp', await listen()), reply && onQuestion, headers)
      expect(client.version).to.equal(version)
      const result = await client.call(name).then(
        ({ content, isError }) => ({ content, isError }),
        (error: Error) => error.message,
      )
      await client.close()
      return { asked, result }
    }

    it('waits in the inbox for seven days, or for the shorter `approval_ttl` of the agent', async () => {
      const [, shop = ''] = FILES['agents/shop.yml'].split('id: shop')
      const files = { ...FILES, 'agents/hasty.yml': `id: hasty\napproval_ttl: 60${shop}` }
      const { app, listen } = await makeMcp({ adapters: ['McpApiAdapter', 'ResponsesCompatApiAdapter'] }, files)
      const kept: number[] = []
      const client = await connect(new URL('/mcp', await listen()), async (params) => {
        const inbox = (await app.inject('/compat/approvals')).json<{ data: Approval[] }>()
        kept.push(...inbox.data.map(({ created_at, expires_at }) => expires_at - created_at))
        return fillForm(params)
      })
      for (const name of ['shop', 'hasty', 'twice']) await client.call(name)
      await client.close()
      const week = 7 * 24 * 60 * 60
      // The last step of `twice` has two questions, asked one after the other.
      expect(kept).to.deep.equal([week, 60, week, week, week, week, week, week])
    })

    it('is not executed once its time is over, and its client reads so', async () => {
      const [, shop = ''] = FILES['agents/shop.yml'].split('id: shop')
      const files = { ...FILES, 'agents/hasty.yml': `id: hasty\napproval_ttl: 1${shop}` }
      const { app, listen } = await makeMcp({ adapters: ['McpApiAdapter', 'ResponsesCompatApiAdapter'] }, files)
      const statuses = async () => {
        const { data } = (await app.inject('/compat/approvals?status=all')).json<{ data: { status: string }[] }>()
        return data.map(({ status }) => status)
      }
      let asked = 0
      const client = await connect(new URL('/mcp', await listen()), async () => {
        if (asked++ === 0) await eventually(async () => expect(await statuses()).to.deep.equal(['expired']), 15_000)
        return { action: 'accept', content: {} }
      })
      const ended = await client.call('hasty').then(
        ({ content }) => JSON.stringify(content),
        (error: Error) => error.message,
      )
      await client.close()
      expect(ended).to.contain('No person has decided in time')
      expect([asked, paid(), await statuses()]).to.deep.equal([1, [], ['expired']])
    })

    it("asks the client's user, and executes the approved call once", async () => {
      const { asked, result } = await callWith({ action: 'accept', content: {} }, 'shop')
      expect(asked).to.have.lengthOf(1)
      expect(asked[0]).to.deep.include({ message: 'May I call pay({"amount":40})?' })
      expect(result).to.deep.include({ content: [{ type: 'text', text: 'Done.' }] })
      expect(paid()).to.deep.equal([40])
    })

    it("asks for each call, where a model uses a call's id again", async () => {
      const { asked, result } = await callWith(fillForm, 'twice')
      expect(asked.map((question) => (question as { message: string }).message)).to.deep.equal([
        'May I call pay({"amount":1})?',
        'May I call pay({"amount":2})?',
        'Which size?',
        'Which size?',
      ])
      expect(result).to.deep.include({ content: [{ type: 'text', text: 'Done.' }] })
      expect(paid()).to.deep.equal([1, 2, 42, 42])
    })

    for (const [decider, isQuicker] of [
      ["the client's user", false],
      ['the inbox', true],
    ] as const)
      it(`keeps what was said before in its conversation, when ${decider} decides`, async () => {
        const { app, ask, listen } = await makeMcp({ adapters: BOTH }, FILES)
        const client = await connect(new URL('/mcp', await listen()), async (params) => {
          if (isQuicker) await approveFirst(app)
          return fillForm(params)
        })
        const say = async (message: string, more = {}) => {
          const { content } = await client.call('teller', undefined, { message, ...more })
          return JSON.stringify(content)
        }
        const [conversation_id = ''] = /[0-9a-f-]{36}/.exec(await say('I am Ada.')) ?? []
        expect(await say('Pay.', { conversation_id })).to.contain('Done.')
        await client.close()
        const uri = `agent-host://teller/conversations/${conversation_id}`
        const { result } = await ask({ id: 1, method: 'resources/read', params: { uri } })
        const said: { content: string }[] = JSON.parse(result.contents[0].text)
        expect(said.map(({ content }) => content)).to.deep.equal(['I am Ada.', 'Hello Ada.', 'Pay.', 'Done.'])
      })

    for (const decided of [1, 2])
      it(`goes on where the inbox has decided, asked for ${decided} of two calls, and executes each once`, async () => {
        const { app, listen } = await makeMcp({ adapters: BOTH }, FILES)
        const asked: string[] = []
        const client = await connect(new URL('/mcp', await listen()), async (params) => {
          asked.push((params as { message: string }).message)
          for (let n = 0; asked.length === 1 && n < decided; n++) await eventually(() => approveFirst(app))
          if (asked.length === 1) await eventually(() => expect(paid()).to.have.length(decided))
          return fillForm(params)
        })
        const { content } = await client.call('twice')
        await client.close()
        expect(content).to.deep.equal([{ type: 'text', text: 'Done.' }])
        expect(paid()).to.deep.equal([1, 2, 42, 42])
        const others = decided === 1 ? ['May I call pay({"amount":2})?'] : []
        expect(asked).to.deep.equal(['May I call pay({"amount":1})?', ...others, 'Which size?', 'Which size?'])
        expect((await app.inject('/compat/approvals')).json<{ data: unknown[] }>().data).to.deep.equal([])
      })

    it('ends as one without a decision, where the inbox has let the next of its calls expire', async () => {
      const [, twice = ''] = FILES['agents/twice.yml'].split('id: twice')
      const files = { ...FILES, 'agents/slow.yml': `id: slow\napproval_ttl: 2${twice}` }
      const { app, listen } = await makeMcp({ adapters: BOTH }, files)
      const client = await connect(new URL('/mcp', await listen()), async (params) => {
        await approveFirst(app)
        const expired = async () => (await app.inject('/compat/approvals?status=all')).body.includes('"expired"')
        await eventually(async () => expect(await expired()).to.equal(true), 15_000)
        return fillForm(params)
      })
      const ended = await client.call('slow').catch(String)
      await client.close()
      expect(JSON.stringify(ended)).to.contain('No person has decided in time')
      expect(paid()).to.deep.equal([1])
    })

    it('has the pictures of its answer, when the inbox decides', async () => {
      const { app, listen } = await makeMcp({ adapters: BOTH }, FILES)
      const client = await connect(new URL('/mcp', await listen()), async (params) => {
        await approveFirst(app)
        return fillForm(params)
      })
      const { content } = await client.call('painter')
      await client.close()
      const picture = { type: 'image', data: 'AQID', mimeType: 'image/png' }
      expect(content).to.deep.equal([{ type: 'text', text: 'Here.' }, picture])
    })

    it('reports a rejection to the agent, and ends with an error if the user cancels', async () => {
      const { result } = await callWith({ action: 'decline' }, 'shop')
      expect(result).to.deep.include({ content: [{ type: 'text', text: 'Done.' }] })
      const { result: cancelled } = await callWith({ action: 'cancel' }, 'shop')
      expect(cancelled).to.contain('The call was given up')
      expect(paid()).to.deep.equal([])
    })

    it('takes a form that is not the one of the question for no answer', async () => {
      const { result } = await callWith({ action: 'accept', content: { approve: false } }, 'shop')
      expect(result).to.contain('The response does not answer the question about pay. The call still waits')
      expect(paid()).to.deep.equal([])
    })

    it("asks a tool's question with a form", async () => {
      const { asked, result } = await callWith({ action: 'accept', content: { answer: 42 } }, 'clerk')
      expect(asked[0]).to.deep.include({
        message: 'Which size?',
        requestedSchema: { type: 'object', properties: { answer: { type: 'number' } }, required: ['answer'] },
      })
      expect(result).to.deep.include({ content: [{ type: 'text', text: 'Done.' }] })
      expect([asked.length, paid()]).to.deep.equal([1, [42]])
    })

    it('asks three questions of one tool, and keeps the answers', async () => {
      const { listen } = await makeMcp({}, FILES)
      let asked = 0
      const onQuestion = () => ({ action: 'accept', content: { answer: ++asked } }) as const
      const client = await connect(new URL('/mcp', await listen()), onQuestion)
      const { content } = await client.call('measured')
      await client.close()
      expect(content).to.deep.equal([{ type: 'text', text: 'Done.' }])
      expect(paid()).to.deep.equal(['1 x 2 x 3'])
    })

    it('is an error with the next step if the user cannot be asked, or the key may not decide', async () => {
      const { result } = await callWith(undefined, 'shop')
      expect(JSON.stringify(result)).to.contain('needs a person to decide about pay')
      const headers = { authorization: 'Bearer key-of-ci' }
      const reply = { action: 'accept', content: {} } as const
      const forbidden = await callWith(reply, 'shop', { mcpApiKey: 'ci:run:key-of-ci' }, headers)
      expect([forbidden.asked, JSON.stringify(forbidden.result)]).to.deep.equal([[], JSON.stringify(result)])
      const both = { mcpApiKey: 'ci:run+approve:key-of-ci' }
      expect((await callWith(reply, 'shop', both, headers)).asked).to.have.lengthOf(1)
      expect(paid()).to.deep.equal([40])
    })

    it('is an error with a link if the user cannot be asked, and continues when somebody else decides', async () => {
      const adapters = ['McpApiAdapter', 'ResponsesCompatApiAdapter']
      const { listen } = await makeMcp({ adapters }, FILES)
      const url = await listen()
      const client = await connect(new URL('/mcp', url), undefined)
      const { content, isError } = await client.call('shop')
      const [link = ''] = /http:\S+mcpr_[\w-]+/.exec(JSON.stringify(content)) ?? []
      expect([isError, link.startsWith(`${url}/compat/approvals/`)]).to.deep.equal([true, true])
      const decided = await fetch(link, {
        method: 'POST',
        body: '{"decision":"approve"}',
        headers: { 'content-type': 'application/json' },
      })
      const { continued_by } = (await decided.json()) as { continued_by: string }
      await eventually(async () => {
        const response = await (await fetch(`${url}/compat/responses/${continued_by}`)).text()
        expect(response).to.contain('Done.')
      })
      await client.close()
      expect(paid()).to.deep.equal([40])
    })

    it('is not executed if the client disconnects before its user answers', async () => {
      const { listen } = await makeMcp({}, FILES)
      const leaving = new AbortController()
      const client = await connect(new URL('/mcp', await listen()), async () => {
        leaving.abort()
        await wait(20)
        return { action: 'accept', content: {} }
      })
      expect(await client.call('shop', leaving.signal).catch((error) => error)).to.be.instanceOf(Error)
      await wait(50)
      await client.close()
      expect(paid()).to.deep.equal([])
    })
  })
}

describe('a waiting call of MCP 2026-07-28', () => {
  beforeEach(() => {
    paid().length = 0
  })
  afterEach(closeServers)

  /** Calls the shop, as often as needed, with responses to what it has asked. */
  async function callShop({ post }: Awaited<ReturnType<typeof makeMcp>>, name = 'shop') {
    const send = async (more: object) => {
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': INFO,
        'io.modelcontextprotocol/clientCapabilities': ELICITATION,
      }
      const params = { name, arguments: PAY, _meta, ...more }
      const reply = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }), {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': name,
      })
      return JSON.parse(/^(?:data: )?({.*})$/m.exec(reply.body)?.[1] ?? '{}')
    }
    const { requestState, inputRequests } = (await send({})).result
    const [callId = ''] = Object.keys(inputRequests)
    return (action: Reply['action']) => send({ requestState, inputResponses: { [callId]: { action, content: {} } } })
  }

  it('stays given up, whatever its client sends after that', async () => {
    const answer = await callShop(await makeMcp({}, FILES))
    for (const action of ['cancel', 'cancel', 'accept', 'decline'] as const) {
      const { error } = await answer(action)
      expect(String(error?.message), action).to.contain('The call was given up')
    }
    expect(paid()).to.deep.equal([])
  })

  it('says that its time is over, also before the server has noted it', async () => {
    const [, shop = ''] = FILES['agents/shop.yml'].split('id: shop')
    const files = { ...FILES, 'agents/hasty.yml': `id: hasty\napproval_ttl: 1${shop}` }
    const answer = await callShop(await makeMcp({}, files), 'hasty')
    await wait(2000)
    const { error } = await answer('accept')
    expect(String(error?.message)).to.match(/The approval has expired|No person has decided in time/)
    expect(paid()).to.deep.equal([])
  })

  it('gives its outcome to every copy of an answer, and is executed once', async () => {
    const answer = await callShop(await makeMcp({}, FILES))
    const replies = await Promise.all([1, 2, 3, 4].map(() => answer('accept')))
    const texts = replies.map(({ result, error }) => error?.message ?? result.content[0].text)
    expect(texts).to.deep.equal(['Done.', 'Done.', 'Done.', 'Done.'])
    expect(paid()).to.deep.equal([40])
  })
})

describe('a question to a client of MCP 2025-11-25', () => {
  afterEach(closeServers)

  it('can be answered only by its session', async () => {
    const { listen } = await makeMcp({}, FILES)
    const url = `${await listen()}/mcp`
    const post = (body: object, headers = {}) =>
      fetch(url, {
        method: 'POST',
        body: JSON.stringify({ jsonrpc: '2.0', ...body }),
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      })
    const params = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: INFO }
    const session = (await post({ id: 1, method: 'initialize', params })).headers.get('mcp-session-id') ?? ''
    paid().length = 0
    const reply = await post(
      { id: 2, method: 'tools/call', params: { name: 'shop', arguments: { message: 'pay' } } },
      { 'mcp-session-id': session },
    )
    const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader()
    const next = async () => JSON.parse(/^data: (.*)$/m.exec((await reader?.read())?.value ?? '')?.[1] ?? '{}')
    const question = await next()
    expect(question.method).to.equal('elicitation/create')
    const answer = { id: question.id, result: { action: 'accept', content: {} } }
    for (const key of [`ask-${crypto.randomUUID()}`, session]) {
      expect(paid()).to.deep.equal([])
      expect((await post(answer, { 'mcp-session-id': key })).status).to.equal(202)
      await wait(30)
    }
    expect((await next()).result.content).to.deep.equal([{ type: 'text', text: 'Done.' }])
    expect(paid()).to.deep.equal([40])
    await post(
      { id: 3, method: 'tools/call', params: { name: 'shop', arguments: { message: 'pay' } } },
      { 'mcp-session-id': session },
    ).then(async (odd) => {
      const lines = odd.body?.pipeThrough(new TextDecoderStream()).getReader()
      const read = async () => JSON.parse(/^data: (.*)$/m.exec((await lines?.read())?.value ?? '')?.[1] ?? '{}')
      const { id } = await read()
      await post({ id, result: { action: 'accept', content: 'no' } }, { 'mcp-session-id': session })
      expect(JSON.stringify(await read())).to.not.contain('Done.')
    })
    expect(paid()).to.deep.equal([40])
  })
})
