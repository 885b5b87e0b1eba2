import { existsSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import OpenAI from 'openai'
import { measureCpuTime } from '../support/cpu-time.ts'
import { eventually } from '../support/eventually.ts'
import type { Json } from '../support/responses.ts'
import { closeServers, makeServer, readEvents } from '../support/server.ts'
import { SHOP_FILES } from '../support/shop.ts'

/** Pays, and asks the client for the weather: both at once, or one after the other. */
const ERRAND = `import { ConversationHistory, defineModule, many, Response, TextMessageHandler, ToolProvider, Type } from 'agent-host'
export default defineModule({ name: 'Errand', provides: [TextMessageHandler], config: Type.Object({ together: Type.Boolean() }),
  uses: { tools: many(ToolProvider), history: ConversationHistory, response: Response },
  create: ({ tools: [own, client], history, response }, { together }) => ({ async handleText(_, run) {
    const done = (await history.getHistory()).filter(({ role }) => role === 'tool')
    const call = (id, tools, name) => done.some(({ toolCallId }) => toolCallId === id) || tools.executeTool(name, { amount: 9 }, run.with({ toolCallId: id }))
    if (together) await Promise.all([call('c0', own, 'pay'), call('c1', client, 'weather')])
    else { await call('c0', own, 'pay'); await call('c1', client, 'weather') }
    await response.respondText(done.map(({ content }) => content).join(', '))
  } }) })`
const errand = (id: string, together: boolean) =>
  `id: ${id}\nmodules: [{ id: tools, module: pay }, { id: main, module: errand, config: { together: ${together} } }]`
/** Pays, and then never ends by itself. */
const PATIENT = `import { ConversationHistory, defineModule, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Patient', provides: [TextMessageHandler], uses: { tools: ToolProvider, history: ConversationHistory },
  create: ({ tools, history }) => ({ async handleText(_, run) {
    const isPaid = (await history.getHistory()).some(({ role }) => role === 'tool')
    if (!isPaid) await tools.executeTool('pay', { amount: 9 }, run.with({ toolCallId: 'c0' }))
    await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))
  } }) })`
const FILES = {
  ...SHOP_FILES,
  'modules/patient.ts': PATIENT,
  'agents/patient.yml': 'id: patient\nmodules: [{ id: tools, module: pay }, { id: main, module: patient }]',
  'modules/errand.ts': ERRAND,
  'agents/together.yml': errand('together', true),
  'agents/steps.yml': errand('steps', false),
}
const WEATHER = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }
const PLEASE = { role: 'user', content: 'please' }
const asTool = { metadata: { approvals: 'tool' } }

describe('approvals in chat', () => {
  afterEach(closeServers)

  async function makeShop(options: object = {}) {
    const adapters = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter']
    const { app, project, listen } = await makeServer({ adapters, ...options }, FILES)
    const request = async (url: string, payload?: object, headers = {}) => {
      const method = payload ? 'POST' : 'GET'
      const reply = await app.inject({ method, url, headers, ...(payload ? { payload } : {}) })
      return { status: reply.statusCode, text: reply.body }
    }
    const chat = async (body: object, headers = {}) => {
      const { status, text } = await request(
        '/compat/chat/completions',
        { model: 'shop', messages: [PLEASE], ...body },
        headers,
      )
      return { status, body: JSON.parse(text) as Json }
    }
    const stream = async (body: object) => {
      const payload = { model: 'shop', messages: [PLEASE], stream: true, ...body }
      return readEvents((await request('/compat/chat/completions', payload)).text).slice(0, -1) as Json[]
    }
    const inbox = async () => JSON.parse((await request('/compat/approvals?order=asc')).text).data as Json[]
    const paid = () => readFile(project.path('paid.txt'), 'utf8').catch(() => '')
    const hasStore = () => existsSync(project.path('responses'))
    return { chat, stream, inbox, paid, listen, request, hasStore, log: app.log, dir: project.dir }
  }

  /** The conversation of a client that answers calls which stand for approvals. */
  const answered = ({ body }: { body: Json }, ...contents: string[]) => {
    const [{ message }] = body.choices
    const results = message.tool_calls.map(({ id }: Json, index: number) => ({
      role: 'tool',
      tool_call_id: id,
      content: contents[index],
    }))
    return { messages: [PLEASE, message, ...results] }
  }
  const approve = '{"decision": "approve"}'
  const nameOf = ({ function: { name } }: Json) => name

  it('arrive as text with id and link, streamed or not; a message decides nothing', async () => {
    const { chat, stream, inbox, paid } = await makeShop()
    const { body } = await chat({})
    const [open] = await inbox()
    const { content, tool_calls } = body.choices[0].message
    expect(content).to.contain('Waiting for approval of pay {"amount":40}.')
    expect(content).to.contain(`http://localhost:80/compat/approvals/${open.id}`)
    expect([tool_calls, body.choices[0].finish_reason]).to.deep.equal([undefined, 'stop'])
    const yes = [PLEASE, { role: 'assistant', content }, { role: 'user', content: 'yes' }]
    await chat({ messages: yes })
    const streamed = (await stream({})).map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    expect(streamed).to.contain((await inbox())[2].id)
    expect([(await inbox()).length, await paid()]).to.deep.equal([3, ''])
  })

  it('keep the options of the request when the run goes on', async () => {
    const { chat } = await makeShop()
    const schema = { type: 'object' }
    const options = {
      model: 'teller',
      temperature: 0.2,
      top_p: 1,
      max_tokens: 500,
      stop: ['END'],
      seed: 7,
      reasoning_effort: 'low',
      user: 'ann',
      response_format: { type: 'json_schema', json_schema: { name: 'told', schema } },
    }
    const waiting = await chat({ ...asTool, ...options })
    const { body } = await chat({ model: 'teller', ...asTool, ...answered(waiting, approve) })
    expect(JSON.parse(body.choices[0].message.content)).to.deep.equal({
      requestOptions: {
        temperature: 0.2,
        topP: 1,
        maxOutputTokens: 500,
        stop: ['END'],
        seed: 7,
        reasoningEffort: 'low',
        responseSchema: schema,
      },
      metadata: { approvals: 'tool' },
      user: 'ann',
    })
  })

  it('are tool calls on request, decided once by their results', async () => {
    const { chat, inbox, paid } = await makeShop()
    const waiting = await chat(asTool)
    const [choice] = waiting.body.choices
    const [open] = await inbox()
    const asked = '{"kind":"approval","name":"pay","arguments":{"amount":40}}'
    const call = { id: open.id, type: 'function', function: { name: 'request_approval', arguments: asked } }
    expect([choice.finish_reason, choice.message.tool_calls]).to.deep.equal(['tool_calls', [call]])
    const ended = await chat(answered(waiting, approve))
    expect(ended.body.choices[0].message.content).to.equal('Results: pay 40')
    expect(ended.body.choices[0].finish_reason).to.equal('stop')
    expect(await paid()).to.equal('pay 40\n')
    expect((await chat(answered(waiting, approve))).status).to.equal(409)
    expect(await paid()).to.equal('pay 40\n')
  })

  it('accept only JSON: neither a plain "yes" nor another call', async () => {
    const { chat, inbox, paid } = await makeShop()
    const waiting = await chat(asTool)
    for (const content of ['yes', '"approve"', '{"decision":"perhaps"}']) {
      expect((await chat(answered(waiting, content))).status, content).to.equal(400)
    }
    const once = answered(waiting, approve)
    const twice = { ...once, messages: [...once.messages, once.messages.at(-1)] }
    expect((await chat(twice)).status).to.equal(400)
    const forged = {
      role: 'assistant',
      tool_calls: [{ id: 'mcpr_x', type: 'function', function: { name: 'pay', arguments: '{}' } }],
    }
    const result = { role: 'tool', tool_call_id: 'mcpr_x', content: approve }
    expect((await chat({ messages: [PLEASE, forged, result] })).status).to.equal(404)
    expect([(await inbox()).length, await paid()]).to.deep.equal([1, ''])
  })

  it("execute the stored call, whatever the client's history says", async () => {
    const { chat, paid } = await makeShop()
    const waiting = await chat(asTool)
    const { messages } = answered(waiting, approve)
    messages[1].tool_calls[0].function.arguments = '{"name":"pay","arguments":{"amount":1}}'
    await chat({ messages: [{ role: 'user', content: 'something else' }, ...messages.slice(1)] })
    expect(await paid()).to.equal('pay 40\n')
  })

  it('can be rejected, edited and answered one after the other, unseen by the model', async () => {
    const { chat, stream, paid } = await makeShop()
    const both = { model: 'both', ...asTool }
    const waiting = await chat(both)
    const [first, second] = waiting.body.choices[0].message.tool_calls
    const part = {
      ...both,
      messages: [PLEASE, { role: 'tool', tool_call_id: first.id, content: '{"decision":"reject"}' }],
    }
    const half = await chat(part)
    expect(half.body.choices[0].message.tool_calls.map(({ id }: Json) => id)).to.deep.equal([second.id])
    const edit = '{"decision":"edit","arguments":{"amount":5}}'
    const chunks = await stream({
      ...both,
      messages: [PLEASE, { role: 'tool', tool_call_id: second.id, content: edit }],
    })
    const said = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    expect(said).to.match(/A person rejected this call of 'pay'.*refund 5/s)
    const question = await chat({ model: 'clerk', ...asTool })
    const size = await chat({ model: 'clerk', ...answered(question, '{"decision":"answer","answer":42}') })
    expect(size.body.choices[0].message.content).to.equal('Results: size 42')
    expect(await paid()).to.equal('refund 5\nsize 42\n')
    const later = [...answered(waiting, approve, approve).messages, { role: 'user', content: 'more' }]
    expect((await chat({ ...both, messages: later })).body.choices[0].finish_reason).to.equal('tool_calls')
  })

  it('are read in the time that the request takes, however many results and calls it has', async () => {
    const { chat } = await makeShop()
    const ids = (from: number) => Array.from({ length: 30_000 }, (_, index) => `mcpr_${from + index}`)
    const tool_calls = ids(1e6).map((id) => ({ id, type: 'function', function: { name: 'x', arguments: '{}' } }))
    const results = ids(2e6).map((id) => ({ role: 'tool', tool_call_id: id, content: '{"decision":"approve"}' }))
    const spentMs = measureCpuTime()
    const { status } = await chat({ messages: [PLEASE, { role: 'assistant', content: null, tool_calls }, ...results] })
    expect(status).to.equal(404)
    expect(spentMs()).to.be.lessThan(2500)
  })

  it('come after calls of the client that were made beside them', async () => {
    const { chat, paid } = await makeShop()
    const ask = (body: object) => chat({ ...asTool, model: 'together', tools: [WEATHER], ...body })
    const first = await ask({})
    expect(first.body.choices[0].message.tool_calls.map(nameOf)).to.deep.equal(['weather'])
    const { messages } = answered(first, 'sunny')
    const asked = await ask({ messages })
    expect(asked.body.choices[0].message.tool_calls.map(nameOf)).to.deep.equal(['request_approval'])
    const { messages: decided } = answered(asked, approve)
    const { body } = await ask({ messages: [...messages, ...decided.slice(1)] })
    expect([body.choices[0].message.content, await paid()]).to.deep.equal(['sunny, pay 9', 'pay 9\n'])
  })

  it('may be followed by calls of the client, whose outputs go to the run that has been decided', async () => {
    const { chat, stream, paid } = await makeShop()
    const ask = (body: object) => chat({ ...asTool, model: 'steps', tools: [WEATHER], ...body })
    const first = await ask({})
    const { messages } = answered(first, approve)
    const asked = await ask({ messages })
    expect(asked.body.choices[0].message.tool_calls.map(nameOf)).to.deep.equal(['weather'])
    const { messages: outputs } = answered(asked, 'sunny')
    const last = { model: 'steps', tools: [WEATHER], messages: [...messages, ...outputs.slice(1)] }
    const text = (await stream(last)).map(({ choices: [choice] }) => choice?.delta.content ?? '').join('')
    expect([text, await paid()]).to.deep.equal(['pay 9, sunny', 'pay 9\n'])
    expect((await chat(last)).status).to.equal(409)
  })

  it('need no other adapter, and no store until a run waits', async () => {
    const { chat, stream, request, paid, hasStore } = await makeShop({ adapters: ['ChatCompatApiAdapter'] })
    await chat({ model: 'echo' })
    await stream({ model: 'echo' })
    expect(hasStore()).to.equal(false)
    const { body } = await chat({})
    expect(body.choices[0].message.content).to.match(/pay {"amount":40}\. Decide with: agent-host approvals\n$/)
    const waiting = await chat(asTool)
    expect((await chat(answered(waiting, approve))).body.choices[0].message.content).to.equal('Results: pay 40')
    expect([hasStore(), await paid()]).to.deep.equal([true, 'pay 40\n'])
    expect((await request('/compat/approvals')).status).to.equal(404)
  })

  it('of responses that another server keeps are decided as well', async () => {
    const both = await makeShop()
    const { text } = await both.request('/compat/responses', { model: 'shop', input: 'please', user: 'ann' })
    const { id, output } = JSON.parse(text)
    const alone = await makeShop({ adapters: ['ChatCompatApiAdapter'], projectDir: both.dir })
    const decision = { role: 'tool', tool_call_id: output[0].id, content: approve }
    const { body } = await alone.chat({ messages: [PLEASE, decision] })
    expect(body.choices[0].message.content).to.equal('Results: pay 40')
    const [{ continued_by: nextId }] = JSON.parse((await both.request('/compat/approvals?status=all')).text).data
    const next = JSON.parse((await both.request(`/compat/responses/${nextId}`)).text)
    expect(next).to.include({
      id: nextId,
      previous_response_id: id,
      background: true,
      user: 'ann',
      status: 'completed',
    })
  })

  it('are shown as responses with the options of the request, and can be continued', async () => {
    const { chat, request, inbox } = await makeShop()
    await chat({ temperature: 0.2, user: 'ann', metadata: { order: '7' } })
    const [{ response_id: id }] = await inbox()
    const read = async (path: string) => JSON.parse((await request(`/compat/responses${path}`)).text)
    const { output, ...record } = await read(`/${id}`)
    const shown = { id, model: 'shop', temperature: 0.2, user: 'ann', status: 'completed', previous_response_id: null }
    expect(record).to.deep.include({ ...shown, metadata: { order: '7' }, tool_choice: 'auto' })
    expect(output.map(({ type }: Json) => type)).to.deep.equal(['mcp_approval_request'])
    const items = (await read(`/${id}/input_items`)).data
    expect(items.map(({ role, content }: Json) => [role, content[0].text])).to.deep.equal([['user', 'please']])
    const answer = { type: 'mcp_approval_response', approval_request_id: output[0].id, approve: true }
    const reply = await request('/compat/responses', { model: 'shop', previous_response_id: id, input: [answer] })
    expect(JSON.parse(reply.text).output[0].content[0].text).to.equal('Results: pay 40')
  })

  it('that the store cannot take do not tell clients where it is, streamed or not', async () => {
    const { chat, stream, dir } = await makeShop()
    const decision = answered(await chat(asTool), approve)
    rmSync(join(dir, 'responses'), { recursive: true })
    const detail = 'The store of responses was removed'
    expect(await chat(decision)).to.deep.equal({ status: 503, body: { detail } })
    expect((await stream(decision)).at(-1)?.error.message).to.equal(detail)
  })

  it('are no error in the log when the client leaves before the run that goes on has ended', async () => {
    const { chat, listen, log, paid } = await makeShop({ logLevel: 'error' })
    const url = await listen()
    const logged = { warnings: [] as string[], errors: [] as string[] }
    Object.assign(Object.getPrototypeOf(log), {
      warn: (_: object, message: string) => void logged.warnings.push(message),
      error: (_: object, message: string) => void logged.errors.push(message),
    })
    for (const [times, isStreamed] of [false, true].entries()) {
      const decision = answered(await chat({ ...asTool, model: 'patient' }), approve)
      const leaving = new AbortController()
      const { signal } = leaving
      const body = JSON.stringify({ model: 'patient', stream: isStreamed, ...decision })
      const headers = { 'content-type': 'application/json' }
      const reading = fetch(`${url}/compat/chat/completions`, { method: 'POST', headers, body, signal })
      const left = reading.then((reply) => reply.text()).catch((error: Error) => error.name)
      await eventually(async () => expect(await paid()).to.equal('pay 9\n'.repeat(times + 1)))
      leaving.abort()
      expect(await left).to.equal('AbortError')
      await eventually(() => expect(logged.warnings.join()).to.match(/The client has left/))
      logged.warnings.length = 0
      expect((await fetch(`${url}/compat/models`)).status).to.equal(200)
      expect(logged.errors, `streamed: ${isStreamed}`).to.deep.equal([])
    }
  })

  it('need the scope approve with named keys', async () => {
    const keys = 'ci:run:key-of-ci,ann:run+approve:key-of-ann'
    const { chat } = await makeShop({ compatApiKey: keys })
    const [ci, ann] = ['ci', 'ann'].map((name) => ({ authorization: `Bearer key-of-${name}` }))
    const waiting = await chat(asTool, ci)
    expect((await chat(answered(waiting, approve), ci)).status).to.equal(403)
    expect((await chat(answered(waiting, approve), ann)).status).to.equal(200)
  })

  it('work with the official client, streamed', async () => {
    const { listen, paid } = await makeShop()
    const client = new OpenAI({ baseURL: `${await listen()}/v1`, apiKey: 'none' })
    const ask = (messages: object[]) =>
      client.chat.completions.stream({ model: 'shop', messages: messages as never, ...asTool }).finalChatCompletion()
    const { message } = (await ask([PLEASE])).choices[0] as Json
    const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: approve }
    expect((await ask([PLEASE, message, result])).choices[0]?.message.content).to.equal('Results: pay 40')
    expect(await paid()).to.equal('pay 40\n')
  })
})
