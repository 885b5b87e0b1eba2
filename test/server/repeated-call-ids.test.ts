import { openProject } from 'agent-host'
import { expect } from 'chai'
import { openSocket } from '../support/response-socket.ts'
import type { Json } from '../support/responses.ts'
import { closeServers, makeServer, readEvents } from '../support/server.ts'
import { makeProject } from '../support/temp-project.ts'

/**
 * Asks for `look` of the client twice, one call a step, each time under the id that the user names (`same`, `empty`), or both in one step
 * (`twins`); tells the calls and results that it was sent. `payer` asks for its own tool `note`, then twice for `pay`, which needs an approval.
 */
const FILES = {
  'agents/looker.yml': `id: looker
modules:
  - { id: llm, module: looker }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/looker.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Looker', provides: [LLM], create: () => ({
  async *generate({ messages }) {
    const kind = messages.find(({ role }) => role === 'user').content
    const results = messages.filter(({ role }) => role === 'tool')
    const ids = messages.flatMap(({ toolCalls = [], toolCallId, content }) =>
      toolCallId === undefined ? toolCalls.map(({ id, arguments: { n } }) => id + ' ' + n) : [toolCallId + '=' + content])
    const calls = results.length > 1 ? [] : kind === 'twins' ? [0, 1] : [results.length]
    if (calls.length === 0) yield { type: 'text', text: ids.join(', ') }
    for (const n of calls) yield { type: 'tool_call', call: { id: kind === 'empty' ? '' : 'call_0', name: 'look', arguments: { n } } }
    yield { type: 'finish', reason: calls.length > 0 ? 'tool_calls' : 'stop' }
  } }) })`,
  'agents/payer.yml': `id: payer
description: Pays
modules:
  - { id: llm, module: payer }
  - { id: tools, module: tools/local, config: { files: [tools/pay.ts] } }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/boss.yml': `id: boss
modules:
  - { id: llm, module: boss }
  - { id: agents, module: tools/agents, config: { agents: [payer] } }
  - { id: loop, module: orchestrator/tool-loop }`,
  ...Object.fromEntries(
    Object.entries({
      payer: [
        ['note', '{}'],
        ['pay', '{ amount: 1 }'],
        ['pay', '{ amount: 2 }'],
      ],
      boss: [
        ['payer', '{ message: "first" }'],
        ['payer', '{ message: "second" }'],
      ],
    }).map(([name, calls]) => [
      `modules/${name}.ts`,
      `import { defineModule, LLM } from 'agent-host'
const calls = [${calls.map(([tool, args]) => `{ id: 'call_0', name: '${tool}', arguments: ${args} }`).join(', ')}]
export default defineModule({ name: 'Model', provides: [LLM], create: () => ({
  async *generate({ messages }) {
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
    const call = calls[results.length]
    yield call ? { type: 'tool_call', call } : { type: 'text', text: results.join('; ') }
    yield { type: 'finish', reason: call ? 'tool_calls' : 'stop' }
  } }) })`,
    ]),
  ),
  'tools/pay.ts': `import { defineTool, Type } from 'agent-host'
export const pay = defineTool({ description: 'Pays.', parameters: Type.Object({ amount: Type.Number() }), needsApproval: true,
  execute: ({ amount }) => 'paid ' + amount })
export const note = defineTool({ description: 'Notes.', parameters: Type.Object({}), execute: () => 'noted' })`,
}
const adapters = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter']
const HOST_ID = /^call_[\da-f-]{36}_\d+$/
const PARAMETERS = { type: 'object', properties: {} }

describe('ids of calls that a model uses again', () => {
  afterEach(closeServers)

  async function serve() {
    const server = await makeServer({ adapters }, FILES)
    const request = (method: 'GET' | 'POST', url: string, payload?: object) =>
      server.app.inject({ method, url, ...(payload ? { payload } : {}) })
    let url: Promise<string> | undefined
    const listen = () => {
      url ??= server.listen()
      return url
    }
    return { ...server, listen, request }
  }
  type Request = Awaited<ReturnType<typeof serve>>['request']

  describe('in chat', () => {
    const tools = [{ type: 'function', function: { name: 'look', parameters: PARAMETERS } }]
    interface Said {
      readonly content?: string | null
      readonly tool_calls?: { readonly id: string; readonly function: { readonly arguments: string } }[]
    }
    type Say = (request: Request, messages: readonly object[]) => Promise<Said>

    const plain: Say = async (request, messages) => {
      const reply = await request('POST', '/compat/chat/completions', { model: 'looker', messages, tools })
      return reply.json().choices[0].message
    }
    const streamed: Say = async (request, messages) => {
      const body = { model: 'looker', messages, tools, stream: true }
      const events = readEvents((await request('POST', '/compat/chat/completions', body)).body) as Json[]
      const deltas = events.flatMap(({ choices }) => choices?.map(({ delta }: Json) => delta) ?? [])
      const tool_calls = deltas.flatMap(({ tool_calls: calls = [] }) => calls)
      const content = deltas.map(({ content: piece }) => piece ?? '').join('')
      return {
        content,
        ...(tool_calls.length > 0 ? { tool_calls: tool_calls.map(({ index: _, ...call }: Json) => call) } : {}),
      }
    }

    /** A client that sends the whole conversation each time, and answers every call. */
    async function converse(say: Say, kind: string) {
      const { request } = await serve()
      const messages: object[] = [{ role: 'user', content: kind }]
      const ids: string[] = []
      for (;;) {
        const said = await say(request, messages)
        if (!said.tool_calls) return { ids, text: said.content }
        messages.push({ role: 'assistant', ...said })
        for (const { id, function: asked } of said.tool_calls) {
          ids.push(id)
          messages.push({ role: 'tool', tool_call_id: id, content: `r${JSON.parse(asked.arguments).n}` })
        }
      }
    }

    for (const [how, say] of [
      ['plain', plain],
      ['streamed', streamed],
    ] as const) {
      it(`are those of the host from the second time on, ${how}`, async () => {
        const { ids, text } = await converse(say, 'same')
        const [first, second] = ids
        expect(first).to.equal('call_0')
        expect(second).to.match(HOST_ID)
        expect(text).to.equal(`call_0 0, call_0=r0, ${second} 1, ${second}=r1`)
      })

      for (const kind of ['empty', 'twins']) {
        it(`are those of the host for calls that are ${kind}, ${how}`, async () => {
          const { ids, text } = await converse(say, kind)
          const [first, second] = ids
          expect(first).to.match(kind === 'empty' ? HOST_ID : /^call_0$/)
          expect(second).to.match(HOST_ID)
          const calls = [`${first} 0`, `${second} 1`]
          const [one, other] = [`${first}=r0`, `${second}=r1`]
          const told = kind === 'twins' ? [...calls, one, other] : [calls[0], one, calls[1], other]
          expect([new Set(ids).size, text]).to.deep.equal([2, told.join(', ')])
        })
      }
    }

    it('leave every approval open to a decision', async () => {
      const { request } = await serve()
      const messages: object[] = [{ role: 'user', content: 'go' }]
      const body = { model: 'payer', messages, metadata: { approvals: 'tool' } }
      const asked: unknown[] = []
      for (;;) {
        const reply = await request('POST', '/compat/chat/completions', body)
        const [{ message }] = reply.json().choices
        if (!message.tool_calls) {
          expect([message.content, asked]).to.deep.equal(['noted; paid 1; paid 2', [1, 2]])
          break
        }
        const [{ id, function: call }] = message.tool_calls
        asked.push(JSON.parse(call.arguments).arguments.amount)
        messages.push(message, { role: 'tool', tool_call_id: id, content: '{"decision": "approve"}' })
      }
    })

    it('may repeat in the history of a client: the model gets them as they are there', async () => {
      const { request } = await serve()
      const call = (n: number) => ({
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'look', arguments: `{"n":${n}}` } }],
      })
      const result = (content: string) => ({ role: 'tool', tool_call_id: 'call_0', content })
      const user = { role: 'user', content: 'same' }
      const said = await plain(request, [user, call(0), result('zero'), call(1), result('one')])
      expect(said.content).to.equal('call_0 0, call_0=zero, call_0 1, call_0=one')
      const next = await plain(request, [user, call(0), result('zero')])
      expect(next.tool_calls?.[0]?.id).to.match(HOST_ID)
    })
  })

  it('are those of the host in runs of adapters from the second time on', async () => {
    const { dir } = await makeProject(FILES)
    await using project = await openProject({ projectDir: dir, logLevel: 'silent' })
    const runs = project.runs.of('')
    const clientTools = [{ name: 'look', description: 'Looks', parameters: PARAMETERS }]
    const messages = [{ role: 'user' as const, content: 'same' }]
    const ids: string[] = []
    let { id } = await runs.start({ agent: 'looker', messages, clientTools })
    for (;;) {
      const { open, text } = await runs.outcome(id)
      const [waiting] = open
      if (!waiting) {
        expect(text).to.equal('call_0 0, call_0=r0, call_0 1, call_0=r1')
        break
      }
      ids.push(waiting.call.callId)
      const result = { text: `r${waiting.call.arguments.n}` }
      const { continuedBy } = await runs.answer(new Map([[waiting.id, { kind: 'client_tool', result }]]), 'ann')
      id = continuedBy ?? ''
    }
    expect(ids[0]).to.equal('call_0')
    expect(ids[1]).to.match(HOST_ID)
  })

  describe('in responses', () => {
    const tools = [{ type: 'function', name: 'look', parameters: PARAMETERS }]
    const body = { model: 'looker', tools }
    type Create = (server: Awaited<ReturnType<typeof serve>>, body: object) => Promise<Json>

    const plain: Create = async ({ request }, more) =>
      (await request('POST', '/v1/responses', { ...body, ...more })).json()
    const streamed: Create = async ({ request }, more) => {
      const reply = await request('POST', '/v1/responses', { ...body, ...more, stream: true })
      const data = reply.body.split('\n').filter((line) => line.startsWith('data: {'))
      return JSON.parse(data.at(-1)?.slice('data: '.length) ?? '').response
    }
    const background: Create = async ({ request }, more) => {
      const { id } = (await request('POST', '/v1/responses', { ...body, ...more, background: true })).json()
      await request('GET', `/v1/responses/${id}?stream=true`)
      return (await request('GET', `/v1/responses/${id}`)).json()
    }
    const overSocket: Create = async (server, more) => {
      const { ask, socket } = await openSocket(await server.listen())
      const events = await ask({ ...body, ...more })
      socket.close()
      return events.at(-1).response
    }
    const callsOf = ({ output }: Json): Json[] => output.filter(({ type }: Json) => type === 'function_call')
    const answersTo = (response: Json): Json[] =>
      callsOf(response).map(({ call_id, arguments: args }) => {
        return { type: 'function_call_output', call_id, output: `r${JSON.parse(args).n}` }
      })
    const textOf = ({ output }: Json): string => output.at(-1).content[0].text

    for (const [how, create] of [
      ['plain', plain],
      ['streamed', streamed],
      ['in the background', background],
      ['over a WebSocket', overSocket],
    ] as const) {
      it(`are those of the host from the second time on, ${how}, and the model gets its own back`, async () => {
        const server = await serve()
        const first = await create(server, { input: 'same' })
        const second = await create(server, { input: answersTo(first), previous_response_id: first.id })
        expect(callsOf(first)[0].call_id).to.equal('call_0')
        expect(callsOf(second)[0].call_id).to.match(HOST_ID)
        const last = await create(server, { input: answersTo(second), previous_response_id: second.id })
        expect(textOf(last)).to.equal('call_0 0, call_0=r0, call_0 1, call_0=r1')
        // A conversation may fork: outputs of the same call again.
        const fork = await create(server, { input: answersTo(second), previous_response_id: second.id })
        expect(textOf(fork)).to.equal(textOf(last))
      })
    }

    it('are those of the host, where the client sends the whole history', async () => {
      const server = await serve()
      const items: Json[] = [{ role: 'user', content: 'same' }]
      for (const n of [0, 1]) {
        const response = await plain(server, { input: items, store: false })
        expect(callsOf(response)).to.have.length(1)
        expect(callsOf(response)[0].call_id).to.match(n === 0 ? /^call_0$/ : HOST_ID)
        items.push(...response.output, ...answersTo(response))
      }
      const [, one] = items.filter(({ type }) => type === 'function_call')
      const told = `call_0 0, call_0=r0, ${one.call_id} 1, ${one.call_id}=r1`
      expect(textOf(await plain(server, { input: items, store: false }))).to.equal(told)
      expect(textOf(await plain(server, { input: items }))).to.equal(told)
    })

    it('may repeat in the history of a client, and in what it adds to a conversation', async () => {
      const server = await serve()
      const call = (n: number) => ({ type: 'function_call', call_id: 'call_0', name: 'look', arguments: `{"n":${n}}` })
      const result = (output: string) => ({ type: 'function_call_output', call_id: 'call_0', output })
      const items = [{ role: 'user', content: 'same' }, call(0), result('zero'), call(1)]
      const open = await plain(server, { input: items })
      expect(open.error.message).to.equal("input: no function_call_output for 'call_0'; send one for each open call")
      const told = 'call_0 0, call_0=zero, call_0 1, call_0=one'
      expect(textOf(await plain(server, { input: [...items, result('one')] }))).to.equal(told)
      const { id: conversation } = (
        await server.request('POST', '/v1/conversations', { items: items.slice(0, 3) })
      ).json()
      await server.request('POST', `/v1/conversations/${conversation}/items`, { items: items.slice(3) })
      expect(textOf(await plain(server, { input: [result('one')], conversation }))).to.equal(told)
      const later = await plain(server, { input: 'and now?', conversation })
      expect(textOf(later)).to.equal(told)
    })

    for (const kind of ['empty', 'twins']) {
      it(`are those of the host for calls that are ${kind}`, async () => {
        const server = await serve()
        const ids: string[] = []
        let response = await plain(server, { input: kind })
        while (callsOf(response).length > 0) {
          ids.push(...callsOf(response).map(({ call_id }) => call_id))
          response = await plain(server, { input: answersTo(response), previous_response_id: response.id })
        }
        const [first, second] = ids
        expect(new Set(ids).size).to.equal(2)
        expect(second).to.match(HOST_ID)
        const calls = [`${first} 0`, `${second} 1`]
        const [one, other] = [`${first}=r0`, `${second}=r1`]
        const told = kind === 'twins' ? [...calls, one, other] : [calls[0], one, calls[1], other]
        expect(textOf(response)).to.equal(told.join(', '))
      })
    }

    for (const [agent, expected] of [
      ['payer', 'noted; paid 1; paid 2'],
      ['boss', 'noted; paid 1; paid 2; noted; paid 1; paid 2'],
    ] as const) {
      it(`leave every approval of ${agent} open to a decision`, async () => {
        const server = await serve()
        let response = await plain(server, { model: agent, input: 'go', tools: [] })
        const asked: unknown[] = []
        for (let index = 0; response.output.at(-1).type === 'mcp_approval_request'; index++) {
          const { id, arguments: args } = response.output.at(-1)
          asked.push(JSON.parse(args).amount)
          if (index % 2 === 0) {
            const approve = { type: 'mcp_approval_response', approval_request_id: id, approve: true }
            const more = { model: agent, input: [approve], tools: [], previous_response_id: response.id }
            response = await plain(server, more)
          } else {
            const { continued_by } = (
              await server.request('POST', `/compat/approvals/${id}`, { decision: 'approve' })
            ).json()
            await server.request('GET', `/v1/responses/${continued_by}?stream=true`)
            response = (await server.request('GET', `/v1/responses/${continued_by}`)).json()
          }
        }
        expect(textOf(response)).to.equal(expected)
        expect(asked).to.deep.equal(agent === 'payer' ? [1, 2] : [1, 2, 1, 2])
      })
    }
  })
})
