import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { createOpenAI } from '@ai-sdk/openai'
import { Agent, hostedMcpTool, run, setTracingDisabled } from '@openai/agents-core'
import { OpenAIResponsesModel } from '@openai/agents-openai'
import { generateText, type ModelMessage } from 'ai'
import { expect } from 'chai'
import OpenAI from 'openai'
import { askApprovals } from '../../support/ask-approvals.ts'
import { eventually } from '../../support/eventually.ts'
import { makeResponses } from '../../support/responses.ts'
import { startResponses } from '../../support/responses-process.ts'
import { killRunning } from '../../support/run-cli.ts'
import { closeServers } from '../../support/server.ts'
import { SHOP_FILES, shopAgent } from '../../support/shop.ts'
import { makeProject } from '../../support/temp-project.ts'

const FILES = {
  ...SHOP_FILES,
  'agents/guarded.yml': `id: guarded
modules:
  - { id: llm, module: llm/mock, config: { replies: [You get a refund.] } }
  - { id: loop, module: orchestrator/tool-loop }
  - { id: rail, module: guard/output, config: { action: ask, patterns: [refund] } }`,
  'agents/hasty.yml': shopAgent('hasty', '{ name: pay, arguments: { amount: 9 } }', 'approval_ttl: 1'),
}

describe('approvals', () => {
  afterEach(closeServers)
  afterEach(killRunning)

  async function makeShop() {
    const { app, project, listen } = await makeResponses({}, FILES)
    const request = async (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object, headers = {}) => {
      const reply = await app.inject({ method, url: `/compat${path}`, headers, ...(payload ? { payload } : {}) })
      return { status: reply.statusCode, body: reply.json(), retry: reply.headers['x-should-retry'] }
    }
    const create = async (model: string, more = {}) =>
      (await request('POST', '/responses', { model, input: 'please', ...more })).body
    const inbox = async () => (await request('GET', '/approvals?order=asc')).body.data
    const decide = (id: string, decision: object) => request('POST', `/approvals/${id}`, decision)
    const paid = () => readFile(project.path('paid.txt'), 'utf8').catch(() => '')
    const ended = async (id: string) => {
      await eventually(async () => expect((await request('GET', `/responses/${id}`)).body.status).to.equal('completed'))
      return (await request('GET', `/responses/${id}`)).body
    }
    const stream = async (payload: object) =>
      (await app.inject({ method: 'POST', url: '/compat/responses', payload: { ...payload, stream: true } })).body
    return { request, create, inbox, decide, paid, ended, listen, stream }
  }

  it('go on with the options of the first request, but for tool_choice, and in its conversation', async () => {
    const { request, create, inbox, decide, ended } = await makeShop()
    const { id: conversation } = (await request('POST', '/conversations', {})).body
    await create('teller', {
      conversation,
      instructions: 'Be brief.',
      temperature: 0.2,
      top_p: 1,
      max_output_tokens: 500,
      tool_choice: 'auto',
      reasoning: { effort: 'low' },
      metadata: { a: 'b' },
    })
    const [approval] = await inbox()
    const { body } = await decide(approval.id, { decision: 'approve' })
    const next = await ended(body.continued_by)
    expect([next.temperature, next.instructions, next.conversation]).to.deep.equal([
      0.2,
      'Be brief.',
      { id: conversation },
    ])
    expect((await request('GET', `/conversations/${conversation}/items`)).body.data[0].id).to.equal(
      next.output.at(-1).id,
    )
    expect(JSON.parse(next.output.at(-1).content[0].text)).to.deep.equal({
      requestOptions: { temperature: 0.2, topP: 1, maxOutputTokens: 500, reasoningEffort: 'low' },
      instructions: 'Be brief.',
      metadata: { a: 'b' },
    })
  })

  it('appear in the inbox and the output, and execute once when approved', async () => {
    const { create, inbox, decide, paid, ended } = await makeShop()
    const waiting = await create('shop')
    expect(waiting.status).to.equal('completed')
    const item = waiting.output.find(({ type }: { type: string }) => type === 'mcp_approval_request')
    const [approval] = await inbox()
    expect(approval).to.deep.include({
      id: item.id,
      object: 'approval',
      response_id: waiting.id,
      agent: 'shop',
      name: 'pay',
      arguments: { amount: 40 },
      status: 'pending',
      continued_by: null,
    })
    const { status, body } = await decide(approval.id, { decision: 'approve' })
    expect([status, body.status]).to.deep.equal([200, 'approved'])
    const next = await ended(body.continued_by)
    expect(next.previous_response_id).to.equal(waiting.id)
    expect(JSON.stringify(next.output)).to.contain('Results: pay 40')
    expect(await paid()).to.equal('pay 40\n')
    const again = await decide(approval.id, { decision: 'reject' })
    expect([again.status, again.retry]).to.deep.equal([409, 'false'])
    expect(await inbox()).to.deep.equal([])
  })

  it('are listed in pages, behind an id of the list alone', async () => {
    const { request, create, decide } = await makeShop()
    for (const agent of ['shop', 'teller']) await create(agent)
    const page = async (query: string) => (await request('GET', `/approvals?order=asc&limit=1${query}`)).body
    const { first_id: first, has_more } = await page('')
    await decide(first, { decision: 'reject' })
    const next = await page(`&after=${first}`)
    expect([has_more, next.data.length, next.has_more]).to.deep.equal([true, 1, false])
    for (const cursor of ['xyz', '%00', '__proto__', `${first.slice(0, -1)}9`]) {
      const { status, body } = await request('GET', `/approvals?after=${cursor}`)
      expect([status, body]).to.deep.equal([400, { detail: 'after must be an id of this list' }])
    }
  })

  it('are decided once: of two concurrent decisions one gets 200, the other 409', async () => {
    const { create, inbox, decide, paid, ended } = await makeShop()
    await create('shop')
    const [{ id }] = await inbox()
    const both = await Promise.all([decide(id, { decision: 'approve' }), decide(id, { decision: 'reject' })])
    expect(both.map(({ status }) => status).sort()).to.deep.equal([200, 409])
    const winner = both.find(({ status }) => status === 200)?.body
    await ended(winner.continued_by)
    expect(await paid()).to.equal(winner.status === 'approved' ? 'pay 40\n' : '')
  })

  it('can be rejected with a reason, edited with valid arguments, and answered', async () => {
    const { create, inbox, decide, paid, ended } = await makeShop()
    await create('shop')
    const rejected = await decide((await inbox())[0].id, { decision: 'reject', reason: 'too much' })
    expect(JSON.stringify((await ended(rejected.body.continued_by)).output)).to.contain('Reason: too much')
    await create('shop')
    const [{ id }] = await inbox()
    expect((await decide(id, { decision: 'edit', arguments: { amount: 'lots' } })).status).to.equal(400)
    const edited = await decide(id, { decision: 'edit', arguments: { amount: 4 } })
    expect(JSON.stringify((await ended(edited.body.continued_by)).output)).to.contain('pay 4')
    await create('clerk')
    const [question] = await inbox()
    expect([question.kind, question.message]).to.deep.equal(['question', 'Which size?'])
    const answered = await decide(question.id, { decision: 'answer', answer: 42 })
    expect(JSON.stringify((await ended(answered.body.continued_by)).output)).to.contain('size 42')
    expect(await paid()).to.equal('pay 4\nsize 42\n')
  })

  it('hold an answer that a guard questions, even in a stream', async () => {
    const { request, create, inbox, decide, ended, stream } = await makeShop()
    const events = await stream({ model: 'guarded', input: 'money?' })
    expect(events).to.not.contain('response.output_text.delta')
    const [held] = await inbox()
    expect([held.name, held.arguments, held.message]).to.deep.equal([
      'send_answer',
      { text: 'You get a refund.' },
      'matches refund',
    ])
    const { body } = await decide(held.id, { decision: 'edit', arguments: { text: 'Wait a day.' } })
    expect(JSON.stringify((await ended(body.continued_by)).output)).to.contain('Wait a day.')
    const next = await create('guarded', { previous_response_id: body.continued_by })
    expect(next.output[0].name).to.equal('send_answer')
    expect((await request('GET', '/approvals')).body.data).to.have.lengthOf(1)
  })

  it('continue when everything is decided, whoever decides', async () => {
    const { create, inbox, decide, paid, ended } = await makeShop()
    await create('both')
    const [first, second] = await inbox()
    expect((await decide(second.id, { decision: 'approve' })).body.continued_by).to.equal(null)
    expect(await paid()).to.equal('')
    const { body } = await decide(first.id, { decision: 'approve' })
    await ended(body.continued_by)
    expect(await paid()).to.equal('pay 1\nrefund 2\n')
  })

  it('can be decided by input items, expire, and be superseded by a message', async () => {
    const { request, create, inbox, paid } = await makeShop()
    const waiting = await create('shop')
    const [{ id }] = await inbox()
    const answer = { type: 'mcp_approval_response', approval_request_id: id, approve: true }
    const next = await create('shop', { input: [answer], previous_response_id: waiting.id })
    expect(JSON.stringify(next.output)).to.contain('Results: pay 40')
    const payload = { model: 'shop', input: [answer], previous_response_id: waiting.id }
    expect((await request('POST', '/responses', payload)).status).to.equal(409)
    expect(await paid()).to.equal('pay 40\n')
    const other = await create('shop')
    const [open] = await inbox()
    await create('shop', { input: 'never mind', previous_response_id: other.id })
    expect((await request('GET', `/approvals/${open.id}`)).body.status).to.equal('superseded')
    await create('hasty')
    const [hasty] = await inbox()
    await new Promise((resolve) => setTimeout(resolve, 1100))
    expect((await request('POST', `/approvals/${hasty.id}`, { decision: 'approve' })).status).to.equal(409)
    expect(await paid()).to.equal('pay 40\n')
  })

  it('that a decision has carried out are not told to the model as undone, in a branch of the conversation', async () => {
    const { request, create, inbox, paid } = await makeShop()
    const say = async (previous: { id: string }) =>
      JSON.stringify((await create('shop', { input: 'and now?', previous_response_id: previous.id })).output)
    const [approved, rejected, superseded] = [await create('shop'), await create('shop'), await create('shop')]
    const [first, second] = await inbox()
    await request('POST', `/approvals/${first.id}`, { decision: 'approve' })
    await request('POST', `/approvals/${second.id}`, { decision: 'reject' })
    await eventually(async () => expect(await paid()).to.equal('pay 40\n'))
    const elsewhere =
      "The call of 'pay' was allowed by a person and runs in another branch of the conversation: its result is not known here."
    const undone = "The call of 'pay' was not executed: it was superseded by a message of the user."
    expect(await say(approved))
      .to.contain(elsewhere)
      .and.not.contain(undone)
    expect(await say(rejected))
      .to.contain(undone)
      .and.not.contain(elsewhere)
    for (let time = 0; time < 2; time++)
      expect(await say(superseded))
        .to.contain(undone)
        .and.not.contain(elsewhere)
    expect(await paid()).to.equal('pay 40\n')
    // A message supersedes what is open, and what was approved beside it is not executed.
    const half = await create('both')
    const [open] = await inbox()
    await request('POST', `/approvals/${open.id}`, { decision: 'approve' })
    for (let time = 0; time < 2; time++) {
      const { output } = await create('both', { input: 'and now?', previous_response_id: half.id })
      expect(JSON.stringify(output)).to.contain("'pay' was not executed").and.contain("'refund' was not executed")
    }
    expect(await paid()).to.equal('pay 40\n')
  })

  it('are gone with the response that waits for them', async () => {
    const { request, create, inbox, paid } = await makeShop()
    const { id } = await create('shop')
    const [approval] = await inbox()
    expect((await request('DELETE', `/responses/${id}`)).status).to.equal(200)
    expect(await inbox()).to.deep.equal([])
    expect((await request('GET', `/approvals/${approval.id}`)).status).to.equal(404)
    expect((await request('POST', `/approvals/${approval.id}`, { decision: 'approve' })).status).to.equal(404)
    expect(await paid()).to.equal('')
  })

  it('are not decided by a request that is rejected', async () => {
    const { request, create, inbox, paid } = await makeShop()
    const { id } = await create('shop')
    const [approval] = await inbox()
    const item = (approve: boolean) => ({ type: 'mcp_approval_response', approval_request_id: approval.id, approve })
    const send = async (body: object) => {
      const reply = await request('POST', '/responses', { model: 'shop', previous_response_id: id, ...body })
      return [reply.status, reply.body.detail]
    }
    const twice = `input[1].approval_request_id is decided already: '${approval.id}'`
    expect(await send({ input: [item(true), item(false)] })).to.deep.equal([400, twice])
    const unclear = { ...item(true), approve: 'yes' }
    expect(await send({ input: [unclear] })).to.deep.equal([400, 'input[0].approve must be a boolean'])
    const odd = { ...item(true), reason: 5 }
    expect(await send({ input: [odd] })).to.deep.equal([400, 'input[0].reason must be a string'])
    const message = { type: 'message', role: 'user', content: 'And then?' }
    const alone =
      'input: a message rejects what waits for a person: send the decision first, and the message after that.'
    for (const input of [
      [item(true), message],
      [message, item(true)],
      [item(false), message],
    ])
      expect(await send({ input })).to.deep.equal([400, alone])
    const misplaced = [400, 'max_tokens is a field of the chat API: send max_output_tokens.']
    expect(await send({ input: [item(true)], max_tokens: 5 })).to.deep.equal(misplaced)
    expect(await send({ input: 'Never mind.', max_tokens: 5 })).to.deep.equal(misplaced)
    const tools = ['a', 'a'].map((name) => ({ type: 'function', name }))
    expect(await send({ input: [item(true)], tools })).to.deep.equal([400, "tools: two of them have the name 'a'."])
    expect((await inbox()).map(({ status }: { status: string }) => status)).to.deep.equal(['pending'])
    expect(await send({ input: [item(true)] })).to.deep.equal([200, undefined])
    expect(await paid()).to.equal('pay 40\n')
  })

  it('stay open when they are decided for another agent', async () => {
    const { request, create, inbox, paid } = await makeShop()
    const { id } = await create('shop')
    const [approval] = await inbox()
    const input = [{ type: 'mcp_approval_response', approval_request_id: approval.id, approve: true }]
    const wrong = await request('POST', '/responses', { model: 'both', input, previous_response_id: id })
    expect([wrong.status, wrong.body.detail]).to.deep.equal([
      400,
      "model must be 'shop', the agent that waits for the decision",
    ])
    expect((await inbox()).map(({ status }: { status: string }) => status)).to.deep.equal(['pending'])
    expect((await request('POST', '/responses', { model: 'shop', input, previous_response_id: id })).status).to.equal(
      200,
    )
    expect(await paid()).to.equal('pay 40\n')
  })

  it('are hidden from pages of other sites', async () => {
    const { create, request, inbox, paid } = await makeShop()
    await create('shop')
    const [open] = await inbox()
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.test' }]) {
      const { data } = (await request('GET', '/approvals', undefined, headers)).body
      expect(JSON.stringify(data)).to.not.contain(open.id).and.not.contain(open.response_id).and.not.contain('amount')
      expect(data[0]).to.include({ agent: 'shop', name: 'pay', status: 'pending', id: null, arguments: null })
      const decided = await request('POST', `/approvals/${open.id}`, { decision: 'approve' }, headers)
      expect([decided.status, await paid()]).to.deep.equal([403, ''])
    }
  })

  it('work with the official client', async () => {
    const { listen, paid } = await makeShop()
    const client = new OpenAI({ baseURL: `${await listen()}/v1`, apiKey: 'none' })
    const waiting = await client.responses.create({ model: 'shop', input: 'please' })
    const request = waiting.output.find((item) => item.type === 'mcp_approval_request')
    expect(request?.name).to.equal('pay')
    const next = await client.responses.create({
      model: 'shop',
      previous_response_id: waiting.id,
      input: [{ type: 'mcp_approval_response', approval_request_id: request?.id ?? '', approve: true }],
    })
    expect(next.output_text).to.equal('Results: pay 40')
    expect(await paid()).to.equal('pay 40\n')
  })

  it('work with the hosted MCP approvals of @openai/agents, which send the whole history', async () => {
    const { listen, paid } = await makeShop()
    const client = new OpenAI({ baseURL: `${await listen()}/v1`, apiKey: 'none' })
    setTracingDisabled(true)
    const tools = [hostedMcpTool({ serverLabel: 'pay', serverUrl: 'http://pay.test', requireApproval: 'always' })]
    const agent = new Agent({ name: 'Shop', model: new OpenAIResponsesModel(client as never, 'shop'), tools })
    const waiting = await run(agent, 'please')
    const [interruption] = waiting.interruptions
    expect([interruption?.name, await paid()]).to.deep.equal(['pay', ''])
    if (interruption) waiting.state.approve(interruption)
    expect((await run(agent, waiting.state)).finalOutput).to.equal('Results: pay 40')
    expect(await paid()).to.equal('pay 40\n')
  })

  it('work with the tool approvals of the AI SDK, even as history', async () => {
    const { listen, paid } = await makeShop()
    const openai = createOpenAI({ baseURL: `${await listen()}/v1`, apiKey: 'none' })
    const options = { serverLabel: 'pay', serverUrl: 'http://pay.test', requireApproval: 'always' } as const
    const ask = (messages: ModelMessage[]) =>
      generateText({ model: openai.responses('shop'), tools: { mcp: openai.tools.mcp(options) as never }, messages })
    const messages: ModelMessage[] = [{ role: 'user', content: 'please' }]
    const waiting = await ask(messages)
    const request = waiting.content.find((part) => part.type === 'tool-approval-request')
    const approvalId = request?.approvalId ?? ''
    messages.push(...waiting.response.messages, {
      role: 'tool',
      content: [{ type: 'tool-approval-response', approvalId, approved: true, providerExecuted: true }],
    })
    const ended = await ask(messages)
    expect([ended.text, await paid()]).to.deep.equal(['Results: pay 40', 'pay 40\n'])
    messages.push(...ended.response.messages, { role: 'user', content: 'again' })
    const again = await ask(messages)
    expect(again.content.map(({ type }) => type)).to.include('tool-approval-request')
    expect(await paid()).to.equal('pay 40\n')
  })

  it('execute at most once when the server is killed at any moment', async () => {
    const project = await makeProject(FILES)
    const paid = () => readFile(project.path('paid.txt'), 'utf8').catch(() => '')
    let server = await startResponses(project.dir)
    let executed = 0
    for (const delayMs of [0, 20]) {
      await server.ask('', { model: 'shop', input: 'please' })
      const [{ id }] = (await askApprovals(server, '')).data
      const deciding = askApprovals(server, `/${id}`, { decision: 'approve' }).catch(() => {})
      await wait(delayMs)
      await server.stop('SIGKILL')
      await deciding
      server = await startResponses(project.dir)
      const { ask } = server
      // What was not claimed before the kill is claimed now; a second decision of the first is refused.
      await askApprovals(server, `/${id}`, { decision: 'approve' })
      const end = await eventually(async () => {
        const { continued_by: next, status } = await askApprovals(server, `/${id}`)
        expect(status).to.equal('approved')
        const { json } = await ask(`/${next}`)
        expect(json.status).to.be.oneOf(['completed', 'failed'])
        return json.status
      }, 20_000)
      const now = (await paid()).match(/^pay 40$/gm)?.length ?? 0
      // Killed once the call had begun: nobody knows how far it came, so it is not repeated.
      expect(now - executed).to.be.oneOf(end === 'failed' ? [0, 1] : [1])
      executed = now
    }
  })
})
