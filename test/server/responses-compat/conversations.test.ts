import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import OpenAI from 'openai'
import { Value } from 'typebox/value'
import { InputItem } from '../../../src/server/adapters/responses-compat/routes/schema.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { walkStore } from '../../../src/store/walk-store.ts'
import { eventually } from '../../support/eventually.ts'
import { type Json, makeResponses, openStream, talkState, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

const user = (content: string) => ({ role: 'user', content })
const textsOf = (page: Json) => page.data.map((item: Json) => item.content[0].text)

/** A server, and its conversations under both prefixes. */
async function makeConversations(options: Parameters<typeof makeResponses>[0] = {}) {
  const server = await makeResponses(options)
  const ask = async (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) => {
    const reply = await server.app.inject({
      method,
      url: `/compat/conversations${path}`,
      ...(payload ? { payload } : {}),
    })
    return { status: reply.statusCode, json: reply.json() as Json }
  }
  return {
    ...server,
    ask,
    begin: async (body: object = {}): Promise<string> => (await ask('POST', '', body)).json.id,
    items: async (id: string, query = '?order=asc'): Promise<Json> => (await ask('GET', `/${id}/items${query}`)).json,
  }
}

describe('conversations', () => {
  afterEach(closeServers)

  it('are created, read, changed and deleted, with the official client under both prefixes', async () => {
    const server = await makeResponses()
    const url = await server.listen()
    for (const prefix of ['compat', 'v1']) {
      const client = new OpenAI({ baseURL: `${url}/${prefix}`, apiKey: 'none', maxRetries: 0 })
      const { conversations, responses } = client
      const { id, ...created } = await conversations.create({
        metadata: { topic: 'a' },
        items: [{ type: 'message', role: 'user', content: 'I am Alice.' }],
      })
      expect({ ...created, created_at: 0 }).to.deep.equal({
        object: 'conversation',
        created_at: 0,
        metadata: { topic: 'a' },
      })
      const first = await responses.create({ model: 'talk', input: 'say hello', conversation: id })
      expect([first.conversation, first.previous_response_id]).to.deep.equal([{ id }, null])
      const second = await responses.create({ model: 'talk', input: 'history', conversation: { id } })
      expect(JSON.parse(second.output_text)).to.deep.equal([
        'user: I am Alice.',
        'user: say hello',
        'assistant: hello ',
        'user: history',
      ])
      const items: OpenAI.Conversations.ConversationItem[] = []
      for await (const item of conversations.items.list(id, { order: 'asc', limit: 2 })) items.push(item)
      expect(items.map((item) => (item as Json).content[0].text)).to.deep.equal([
        'I am Alice.',
        'say hello',
        'hello ',
        'history',
        second.output_text,
      ])
      expect(items.every((item) => (item as Json).status === 'completed')).to.equal(true)
      const [said] = first.output
      expect((await conversations.items.retrieve(said?.id ?? '', { conversation_id: id })).id).to.equal(said?.id)
      const added = await conversations.items.create(id, { items: [{ role: 'user', content: 'And I am 30.' }] })
      expect([added.object, added.data.length, added.has_more]).to.deep.equal(['list', 1, false])
      expect((await conversations.items.delete(said?.id ?? '', { conversation_id: id })).id).to.equal(id)
      const third = await responses.create({ model: 'talk', input: 'history', conversation: id })
      expect(JSON.parse(third.output_text)).to.not.include('assistant: hello ')
      expect(JSON.parse(third.output_text)).to.include('user: And I am 30.')
      expect((await conversations.update(id, { metadata: { topic: 'b' } })).metadata).to.deep.equal({ topic: 'b' })
      expect((await conversations.retrieve(id)).metadata).to.deep.equal({ topic: 'b' })
      expect(await conversations.delete(id)).to.deep.equal({ id, object: 'conversation.deleted', deleted: true })
      const gone = await conversations.retrieve(id).catch((error: unknown) => error)
      expect(gone).to.be.instanceOf(OpenAI.NotFoundError)
      expect((await responses.retrieve(second.id)).output_text).to.equal(second.output_text)
    }
  })

  it('return items of types that are not known in the form of the document', async () => {
    const { begin, items } = await makeConversations()
    const page = await items(
      await begin({
        items: [
          { type: 'memo', content: 'a', role: null },
          { type: 'memo', content: null, x: 1 },
        ],
      }),
    )
    for (const item of page.data) expect(Value.Check(InputItem, item), JSON.stringify(item)).to.equal(true)
    expect(page.data[0].content).to.deep.equal([{ type: 'input_text', text: 'a' }])
    expect(page.data[1]).to.deep.include({ type: 'memo', x: 1 })
  })

  it('keep the rest of a turn whose item was removed when its response is deleted', async () => {
    const { ask, begin, items, create, inject } = await makeConversations()
    const conversation = await begin()
    const first = await create('say hello', { conversation })
    await create('say more', { conversation })
    const [removed] = (await items(conversation)).data
    expect((await ask('DELETE', `/${conversation}/items/${removed.id}`)).status).to.equal(200)
    const history = async () => JSON.parse(textOf(await create('history', { conversation }))).slice(0, 3)
    const rest = ['assistant: hello ', 'user: say more', 'assistant: more ']
    expect(await history()).to.deep.equal(rest)
    expect((await inject('DELETE', `/${first.id}`)).statusCode).to.equal(200)
    expect(await history()).to.deep.equal(rest)
  })

  it('lose the rest of a turn whose item was removed with the last response', async () => {
    const { ask, begin, items, create, inject, project } = await makeConversations()
    const conversation = await begin()
    const first = await create('say hello-canary', { conversation })
    const [removed] = (await items(conversation)).data
    expect((await ask('DELETE', `/${conversation}/items/${removed.id}`)).status).to.equal(200)
    expect((await inject('DELETE', `/${first.id}`)).statusCode).to.equal(200)
    expect((await items(conversation)).data).to.deep.equal([])
    const store = await openStore({ store: 'sqlite', dir: project.path('responses'), projectDir: project.dir })
    const left: string[] = []
    for await (const page of walkStore(store)) left.push(...page.map(String).filter((row) => row.includes('canary')))
    await store.close()
    expect(left).to.deep.equal([])
  })

  it('share a line with previous_response_id: a fork does not change them', async () => {
    const { begin, create, items } = await makeConversations()
    const conversation = await begin()
    const first = await create('say a', { conversation })
    const fork = await create('history', { previous_response_id: first.id })
    expect(JSON.parse(textOf(fork))).to.deep.equal(['user: say a', 'assistant: a ', 'user: history'])
    await create('say b', { conversation })
    expect(textsOf(await items(conversation))).to.deep.equal(['say a', 'a ', 'say b', 'b '])
  })

  it('are listed newest first by default, from a cursor, with has_more', async () => {
    const { begin, create, items } = await makeConversations()
    const conversation = await begin()
    for (const word of ['a', 'b', 'c']) await create(`say ${word}`, { conversation })
    const page = await items(conversation, '?limit=2')
    expect([textsOf(page), page.has_more, page.first_id, page.last_id]).to.deep.equal([
      ['c ', 'say c'],
      true,
      page.data[0].id,
      page.data[1].id,
    ])
    const rest = await items(conversation, `?limit=4&after=${page.last_id}&include=message.output_text.logprobs`)
    expect([textsOf(rest), rest.has_more]).to.deep.equal([['b ', 'say b', 'a ', 'say a'], false])
    expect(textsOf(await items(conversation, `?order=asc&limit=1&after=${page.last_id}`))).to.deep.equal(['c '])
    const other = await begin({ items: [user('x')] })
    const [foreign] = (await items(other)).data
    expect(await items(conversation, `?after=${foreign.id}`)).to.deep.equal({
      detail: 'after must be an id of this list',
    })
  })

  it('are listed in pages of limited size, which end early and lose nothing', async () => {
    const { ask, begin, items } = await makeConversations()
    const conversation = await begin()
    const long = (letter: string) => ask('POST', `/${conversation}/items`, { items: [user(letter.repeat(6_000_000))] })
    for (const letter of ['a', 'b']) await long(letter)
    await ask('POST', `/${conversation}/items`, { items: [user('d'), user('e')] })
    const seen: string[] = []
    const sizes: number[] = []
    for (let after = ''; ; ) {
      const page = await items(conversation, `?order=asc&limit=100${after}`)
      sizes.push(page.data.length)
      seen.push(...textsOf(page).map((text: string) => text[0]))
      if (!page.has_more) break
      after = `&after=${page.last_id}`
    }
    expect([seen.join(''), sizes]).to.deep.equal(['abde', [1, 3]])
  })

  it('take one turn at a time: a concurrent one is rejected, and nothing is lost', async () => {
    const { begin, create, inject, items, whenEnded } = await makeConversations()
    const conversation = await begin()
    const running = await create('count 5', { conversation, background: true })
    const refused = await inject('POST', '', { model: 'talk', input: 'say b', conversation })
    expect([refused.statusCode, refused.json().detail]).to.deep.equal([
      409,
      `The conversation is in use: response '${running.id}' is still in progress`,
    ])
    expect((await items(conversation)).data).to.deep.equal([])
    await whenEnded(running.id)
    const asked = () => inject('POST', '', { model: 'talk', input: 'say c', conversation })
    const replies = await Promise.all(Array.from({ length: 10 }, asked))
    const served = replies.filter(({ statusCode }) => statusCode === 200)
    expect(replies.every(({ statusCode }) => statusCode === 200 || statusCode === 409)).to.equal(true)
    expect(served.length).to.be.greaterThan(0)
    const said = textsOf(await items(conversation, '?order=asc&limit=100'))
    expect(said.filter((text: string) => text === 'say c')).to.have.length(served.length)
    expect(said.filter((text: string) => text === 'c ')).to.have.length(served.length)
  })

  it('keep all of the items that are added at once', async () => {
    const { ask, begin, items } = await makeConversations()
    const conversation = await begin()
    const texts = ['a', 'b', 'c', 'd', 'e']
    await Promise.all(texts.map((text) => ask('POST', `/${conversation}/items`, { items: [user(text)] })))
    expect(textsOf(await items(conversation)).sort()).to.deep.equal(texts)
  })

  it('keep interrupted turns with output, and drop those without', async () => {
    const { begin, create, inject, items, listen } = await makeConversations()
    const url = `${await listen()}/compat/responses`
    const conversation = await begin()
    await create('say a', { conversation })
    expect((await inject('POST', '', { model: 'talk', input: 'fail', conversation })).statusCode).to.equal(500)
    const stream = await openStream(url, { model: 'talk', input: 'hang', conversation, stream: true })
    await eventually(() => expect(stream.events().length).to.be.greaterThan(4))
    stream.leave()
    const said = ['say a', 'a ', 'fail', 'hang', 'begun ']
    await eventually(async () => expect(textsOf(await items(conversation))).to.deep.equal(said))
    const before = talkState().runs
    const leaving = new AbortController()
    const body = JSON.stringify({ model: 'talk', input: 'hang', conversation })
    const headers = { 'content-type': 'application/json' }
    const plain = fetch(url, { method: 'POST', body, headers, signal: leaving.signal }).catch(() => {})
    await eventually(() => expect(talkState().runs).to.equal(before + 1))
    expect((await inject('POST', '', { model: 'talk', input: 'say b', conversation })).statusCode).to.equal(409)
    leaving.abort()
    await plain
    await eventually(async () => expect((await create('say b', { conversation })).status).to.equal('completed'))
    expect(textsOf(await items(conversation))).to.deep.equal([...said, 'say b', 'b '])
  })

  it('accept outputs of client tools in a response or as items', async () => {
    const { ask, begin, inject, items } = await makeConversations()
    const conversation = await begin({
      items: [
        user('What is 1 + 2?'),
        { type: 'function_call', call_id: 'c1', name: 'add', arguments: '{"a":1,"b":2}' },
      ],
    })
    const over = await inject('POST', '', { model: 'talk', input: 'history', conversation })
    expect([over.statusCode, over.json().detail]).to.deep.equal([
      400,
      "input: no function_call_output for 'c1'; send one for each open call",
    ])
    const output = { type: 'function_call_output', call_id: 'c1', output: '3' }
    const unknown = await ask('POST', `/${conversation}/items`, { items: [{ ...output, call_id: 'c2' }] })
    expect([unknown.status, unknown.json.detail]).to.deep.equal([400, "input: no call 'c2' waits for an output"])
    expect((await ask('POST', `/${conversation}/items`, { items: [output] })).status).to.equal(200)
    const answer = (await inject('POST', '', { model: 'talk', input: 'history', conversation })).json()
    expect(JSON.parse(textOf(answer))).to.deep.equal([
      'user: What is 1 + 2?',
      'assistant: ',
      'tool: 3',
      'user: history',
    ])
    const call = (await items(conversation)).data[1]
    await ask('DELETE', `/${conversation}/items/${call.id}`)
    const without = (await inject('POST', '', { model: 'talk', input: 'history', conversation })).json()
    expect(JSON.parse(textOf(without)).slice(0, 2)).to.deep.equal(['user: What is 1 + 2?', 'user: history'])
  })

  it('reject contradictory, unknown and oversized requests', async () => {
    const { ask, begin, create, inject } = await makeConversations({ maxHistoryItems: 4 })
    const conversation = await begin()
    const first = await create('say a', { conversation })
    const asked = async (more: object) => (await inject('POST', '', { model: 'talk', input: 'say b', ...more })).json()
    expect(await asked({ conversation, previous_response_id: first.id })).to.deep.equal({
      detail: 'conversation and previous_response_id exclude each other',
    })
    expect(await asked({ conversation, store: false })).to.deep.equal({
      detail: 'conversation needs store: a response that is not stored cannot be part of one',
    })
    expect(await asked({ conversation: 'conv_none' })).to.deep.equal({ detail: 'Conversation not found' })
    const many = { items: Array.from({ length: 21 }, () => user('x')) }
    expect((await ask('POST', `/${conversation}/items`, many)).json.detail).to.include('items must')
    expect((await ask('POST', `/${conversation}/items`, { items: [] })).status).to.equal(400)
    const three = { items: [user('x'), user('y'), user('z')] }
    expect((await ask('POST', `/${conversation}/items`, three)).json).to.deep.equal({
      detail: 'The conversation has more than 4 messages, the limit of --max-history-items',
    })
    const long = { metadata: { key: 'x'.repeat(513) } }
    expect((await ask('POST', `/${conversation}`, long)).json.detail).to.include('metadata.key')
    const longKey = { metadata: { ['k'.repeat(65)]: 'x' } }
    expect((await ask('POST', `/${conversation}`, longKey)).json.detail).to.include('more than 64 characters')
    const pairs = { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`key ${n}`, ''])) }
    expect((await ask('POST', `/${conversation}`, pairs)).json.detail).to.include('more than 16 properties')
    const other = await begin({ items: [user('mine')] })
    const [foreign] = (await ask('GET', `/${other}/items`)).json.data
    for (const [method, path] of [
      ['GET', `/${conversation}/items/${foreign.id}`],
      ['DELETE', `/${conversation}/items/${foreign.id}`],
      ['GET', '/conv_none'],
      ['DELETE', '/conv_none'],
      ['GET', '/conv_none/items'],
      ['GET', `/${conversation}/items/msg_none`],
    ] as const) {
      expect((await ask(method, path)).status, path).to.equal(404)
    }
  })

  it('survive a restart, and lose a deleted last response', async () => {
    const responsesDir = mkdtempSync(join(tmpdir(), 'agent-host-test-conversations-'))
    const before = await makeConversations({ responsesDir })
    const conversation = await before.begin({ items: [user('I am Alice.')], metadata: { a: 'b' } })
    await before.create('say a', { conversation })
    await closeServers()
    const { ask, create, inject, items } = await makeConversations({ responsesDir })
    expect((await ask('GET', `/${conversation}`)).json.metadata).to.deep.equal({ a: 'b' })
    expect(textsOf(await items(conversation))).to.deep.equal(['I am Alice.', 'say a', 'a '])
    const last = await create('say b', { conversation })
    await inject('DELETE', `/${last.id}`)
    expect(textsOf(await items(conversation))).to.deep.equal(['I am Alice.', 'say a', 'a '])
    const next = await create('history', { conversation })
    expect(JSON.parse(textOf(next))).to.deep.equal([
      'user: I am Alice.',
      'user: say a',
      'assistant: a ',
      'user: history',
    ])
  })
})

describe('truncation', () => {
  afterEach(closeServers)

  it('auto drops the oldest messages that do not fit, disabled rejects', async () => {
    const { begin, create, inject } = await makeConversations({ maxHistoryItems: 4 })
    const conversation = await begin()
    for (const word of ['a', 'b']) await create(`say ${word}`, { conversation })
    const refused = await inject('POST', '', { model: 'talk', input: 'history', conversation, truncation: 'disabled' })
    expect([refused.statusCode, refused.json().detail]).to.deep.equal([
      400,
      'The conversation has more than 4 messages, the limit of --max-history-items',
    ])
    const shortened = await create('history', { conversation, truncation: 'auto' })
    expect(JSON.parse(textOf(shortened))).to.deep.equal(['user: say b', 'assistant: b ', 'user: history'])
    const input = [{ role: 'system', content: 'S' }, ...['a', 'b', 'c', 'd'].map(user), user('history')]
    const cut = await create(input, { truncation: 'auto' })
    expect(JSON.parse(textOf(cut))).to.deep.equal(['system: S', 'user: c', 'user: d', 'user: history'])
    expect(cut.truncation).to.equal('auto')
  })

  it('auto continues a turn of more messages than a call takes as arguments, and its items are listed', async () => {
    const { begin, create, items } = await makeConversations()
    const conversation = await begin()
    const input = [...new Array(150_000).fill(user('x')), user('say a')]
    await create(input, { conversation, truncation: 'auto' })
    const next = await create('say b', { conversation, truncation: 'auto' })
    expect(textOf(next)).to.equal('b ')
    expect((await items(conversation, '?order=asc&limit=2')).data.length).to.equal(2)
  })

  it('auto drops turns, and never separates a call from its result', async () => {
    const { create } = await makeConversations({ maxHistoryItems: 3, maxHistoryTurns: 2 })
    const input = [
      user('old'),
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: '1' },
      { role: 'assistant', content: 'one' },
      user('history'),
    ]
    expect(JSON.parse(textOf(await create(input, { truncation: 'auto' })))).to.deep.equal([
      'assistant: one',
      'user: history',
    ])
    let previous = (await create('say a')).id
    for (const word of ['b', 'c'])
      previous = (await create(`say ${word}`, { previous_response_id: previous, truncation: 'auto' })).id
    const last = await create('history', { previous_response_id: previous, truncation: 'auto' })
    expect(JSON.parse(textOf(last))).to.deep.equal(['user: say c', 'assistant: c ', 'user: history'])
  })

  it('auto rejects a conversation whose required part is too long', async () => {
    const { inject } = await makeConversations({ maxHistoryItems: 2 })
    const input = [user('say a'), { role: 'assistant', content: 'x' }, { role: 'assistant', content: 'y' }]
    const reply = await inject('POST', '', { model: 'talk', input, truncation: 'auto' })
    expect(reply.statusCode).to.equal(400)
  })
})
