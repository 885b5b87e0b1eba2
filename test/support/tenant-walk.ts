import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { eventually } from './eventually.ts'
import { openSocket, type SocketClient } from './response-socket.ts'
import type { Json } from './responses.ts'
import { SHOP_MODULES, shopAgent } from './shop.ts'
import { type Answer, keysFile, madeUp, Visitor } from './tenant-visitor.ts'

/** Agents that tell everything which they can see: what they have stored, remembered and heard. */
export const TENANT_PROJECT = {
  'agents/teller.yml': `id: teller
conversation: true
expose: [memory, conversations]
modules:
  - { id: embedder, module: embedder/local }
  - { id: index, module: memory/exact-index }
  - { id: memory, module: memory/vector-memory }
  - { id: kept, module: conversation/persistent }
  - { id: main, module: tell-all }
exchange:
  - { module: main, protocol: ConversationHistory, provider: kept }`,
  'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }'),
  'agents/clerk.yml': `id: clerk
modules: [{ id: team, module: tools/agents, config: { agents: [shop] } }, { id: main, module: ask-shop }]`,
  'modules/ask-shop.ts': `import { defineModule, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'AskShop', provides: [TextMessageHandler], uses: { tools: ToolProvider },
  create: ({ tools }) => ({ async handleText(message, run) {
    await tools.executeTool('shop', { message }, run.with({ toolCallId: 'call_shop' }))
  } }) })`,
  'evals/words.jsonl': '{"id": "of-the-project", "input": "hi"}',
  ...SHOP_MODULES,
  'modules/tell-all.ts': `import { ConversationHistory, defineModule, Memory, Response, Storage, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'TellAll', provides: [TextMessageHandler],
  uses: { response: Response, memory: Memory, storage: Storage, history: ConversationHistory },
  create: ({ response, memory, storage, history }) => ({ async handleText(text, run) {
    await memory.store(text, {}, run)
    await storage.append('log', text)
    const found = [
      ...(await memory.search(text, 50, run)), ...(await memory.list(run)), ...(await storage.list({ prefix: '', limit: 1000 })),
      ...(await history.getHistory(run)),
    ]
    const secrets = new Set(JSON.stringify(found).match(/secret-of-[a-z]+/g))
    await response.respondText(text + ' sees ' + [...secrets].sort().join(' and ') + ' as ' + run.tenant)
  } }) })`,
}

/** The tenants, by the name of the one key of each; '' is the nameless one. */
const TENANTS = { acme: 'acme', globex: 'globex', nobody: '' }

/** The file of their keys. */
export const TENANT_KEYS = keysFile(
  Object.entries(TENANTS).map(([name, tenant]) => {
    return { name, ...(tenant === '' ? {} : { tenant }), scopes: ['run', 'approve', 'debug', 'forget'] }
  }),
)

/** Options of a server that they use: everything that has routes. */
export const TENANT_OPTIONS: Partial<ServerOptions> = {
  adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter'],
  debug: true,
  metrics: true,
  allowVariants: true,
  record: 1,
  keys: 'keys.yml',
}

/** Ids of what one tenant has stored. */
interface Stored {
  readonly visitor: Visitor
  readonly responses: string[]
  readonly waiting: string[]
  readonly approvals: string[]
  readonly items: string[]
  readonly conversations: string[]
  readonly mcpConversations: string[]
  readonly states: string[]
  readonly resources: string[]
  readonly runs: string[]
  readonly variants: string[]
  /** Responses that only its WebSocket knows. */
  readonly unstored: string[]
  socket: SocketClient | undefined
}

/** What a visitor tries with the things of another tenant. */
interface Attack {
  readonly own: Stored
  readonly other: Stored
  readonly api: string
}

type Line = (attack: Attack) => Promise<void>

const SDK = { 'mcp-protocol-version': '2026-07-28' }
const SDK_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}
const MCP = { accept: 'application/json, text/event-stream' }

/** Ids that each operation is tried with, beside as many that nobody has: 100 requests and more, of all tenants together. */
const MAX_TRIED = 13

/** One line for each operation of the document: `{api}` stands for both dialects. */
const LINES: Readonly<Record<string, Line>> = {
  'GET /openapi.json': isShared('/openapi.json'),
  // Sums of all tenants, for the operator.
  'GET /metrics': async () => {},
  'POST /forget': async ({ own, other }) => {
    const user = `user of ${other.visitor.tenant}`
    const { json } = await other.visitor.ask('POST', '/v1/responses', { model: 'teller', input: 'hi', user })
    const forgotten = async ({ visitor }: Stored) => (await visitor.ask('POST', '/forget', { user })).json.responses
    expect(await forgotten(own)).to.equal(0)
    expect((await other.visitor.ask('GET', `/v1/responses/${json.id}`)).status).to.equal(200)
    expect(await forgotten(other)).to.equal(1)
  },
  'GET /{api}/models': isShared('/{api}/models'),
  'GET /{api}/models/{model}': isShared('/{api}/models/teller'),
  'POST /{api}/chat/completions': async ({ own, other, api }) => {
    const say = (messages: object[]) =>
      own.visitor.ask('POST', `/${api}/chat/completions`, { model: 'teller', user: 'ann', metadata: TALK, messages })
    const { json } = await say([{ role: 'user', content: own.visitor.secret }])
    expectOwn(own, json.choices[0].message.content)
    await isHidden(other.approvals, (id) =>
      say([
        { role: 'user', content: 'pay' },
        { role: 'tool', tool_call_id: id, content: '{"decision":"approve"}' },
      ]),
    )
  },
  'POST /{api}/responses': async ({ own, other, api }) => {
    const create = (body: object, headers = {}) =>
      own.visitor.ask('POST', `/${api}/responses`, { model: 'teller', ...body }, headers)
    await isHidden(other.responses, (id) => create({ input: 'hi', previous_response_id: id }))
    await isHidden(other.conversations, (id) => create({ input: 'hi', conversation: id }))
    await isHidden(other.approvals, (id) =>
      create({ model: 'shop', input: [{ type: 'mcp_approval_response', approval_request_id: id, approve: true }] }),
    )
    await isHidden(other.items, (id) => create({ input: [{ type: 'item_reference', id }] }))
    for (const id of other.items.slice(-3)) {
      const { json } = await create({
        input: [
          { type: 'item_reference', id },
          { role: 'user', content: own.visitor.secret },
        ],
      })
      expectOwn(own, textOf(json))
    }
    // All have sent this key: each gets its own answer again.
    const repeated = await create({ input: own.visitor.secret }, { 'idempotency-key': 'repeated' })
    expect(repeated.json.id).to.equal(own.responses[1])
    expectOwn(own, textOf(repeated.json))
  },
  'POST /{api}/responses/compact': async ({ own, other, api }) => {
    const compact = (body: object) => own.visitor.ask('POST', `/${api}/responses/compact`, { model: 'shop', ...body })
    await isHidden(other.responses, (id) => compact({ previous_response_id: id }))
    await isHidden(other.items, (id) => compact({ input: [{ type: 'item_reference', id }] }))
  },
  'GET /{api}/responses': async ({ own, other, api }) => {
    const ids = await listAll(own, `/${api}/responses`)
    expect(ids).to.include.members(own.responses)
    expect(ids.filter((id) => other.visitor.ids.has(id))).to.deep.equal([])
    for (const cursor of ['after', 'before']) {
      await isHidden(
        other.responses,
        async (id) => own.visitor.ask('GET', `/${api}/responses?${cursor}=${id}&limit=1`),
        {
          mayAnswer: true,
        },
      )
    }
    // The same path is that of the WebSocket.
    for (const id of [...other.unstored, ...other.responses].slice(-MAX_TRIED)) {
      const ask = async (previous: string) =>
        JSON.stringify(await own.socket?.ask({ model: 'teller', input: 'hi', previous_response_id: previous }))
      const [given, made] = [await ask(id), await ask(madeUp(id))]
      own.visitor.received.push(given)
      expect(given).to.equal(made)
      expect(given).to.contain('"status":404')
    }
  },
  'GET /{api}/responses/{id}': async ({ own, other, api }) => {
    const ids = [...other.responses, ...other.waiting]
    await isHidden(ids, (id) => own.visitor.ask('GET', `/${api}/responses/${id}`))
    await isHidden(ids, (id) => own.visitor.ask('GET', `/${api}/responses/${id}?stream=true`))
  },
  'DELETE /{api}/responses/{id}': hides('DELETE', 'responses', '/{api}/responses/'),
  'POST /{api}/responses/{id}/cancel': hides('POST', 'responses', '/{api}/responses/', '/cancel'),
  'GET /{api}/responses/{id}/input_items': async ({ own, other, api }) => {
    const items = (id: string, query = '') => own.visitor.ask('GET', `/${api}/responses/${id}/input_items${query}`)
    await isHidden(other.responses, (id) => items(id))
    for (const cursor of ['after', 'before']) {
      await isHidden(other.items, (id) => items(own.responses[0] as string, `?${cursor}=${id}`))
    }
  },
  'GET /{api}/approvals': async ({ own, other, api }) => {
    for (const status of ['pending', 'all']) {
      const ids = await listAll(own, `/${api}/approvals`, `&status=${status}`)
      expect(ids).to.include.members(own.approvals)
      expect(ids.filter((id) => other.approvals.includes(id))).to.deep.equal([])
      const page = (id: string) => own.visitor.ask('GET', `/${api}/approvals?status=${status}&limit=1&after=${id}`)
      await isHidden(other.approvals, page, { mayAnswer: true })
    }
  },
  'GET /{api}/approvals/{id}': hides('GET', 'approvals', '/{api}/approvals/'),
  'POST /{api}/approvals/{id}': async ({ own, other, api }) => {
    for (const decision of ['approve', 'reject']) {
      await isHidden(other.approvals, (id) => own.visitor.ask('POST', `/${api}/approvals/${id}`, { decision }))
    }
  },
  'POST /{api}/approvals/callback': async ({ own, other, api }) => {
    const send = (id: string) => own.visitor.ask('POST', `/${api}/approvals/callback`, { query: `state=${id}` })
    await isHidden(other.approvals, send)
  },
  'POST /{api}/conversations': async ({ own, other, api }) => {
    await isHidden(other.items, (id) =>
      own.visitor.ask('POST', `/${api}/conversations`, { items: [{ type: 'item_reference', id }] }),
    )
  },
  'POST /{api}/conversations/{id}': hides('POST', 'conversations', '/{api}/conversations/', '', {
    metadata: { a: 'b' },
  }),
  'GET /{api}/conversations/{id}': hides('GET', 'conversations', '/{api}/conversations/'),
  'DELETE /{api}/conversations/{id}': hides('DELETE', 'conversations', '/{api}/conversations/'),
  'POST /{api}/conversations/{id}/items': hides('POST', 'conversations', '/{api}/conversations/', '/items', {
    items: [{ role: 'user', content: 'hi' }],
  }),
  'GET /{api}/conversations/{id}/items': async ({ own, other, api }) => {
    const items = (id: string, query = '') => own.visitor.ask('GET', `/${api}/conversations/${id}/items${query}`)
    await isHidden(other.conversations, (id) => items(id))
    await isHidden(other.items, (id) => items(own.conversations[0] as string, `?after=${id}`))
  },
  'GET /{api}/conversations/{id}/items/{itemId}': hidesItems('GET'),
  'DELETE /{api}/conversations/{id}/items/{itemId}': hidesItems('DELETE'),
  'POST /mcp': async ({ own, other }) => {
    for (const isNew of [false, true]) {
      const call = (name: string, args: object, more = {}) =>
        askMcp(own.visitor, 'tools/call', { name, arguments: args, ...more }, isNew)
      const said = await call('teller', { message: own.visitor.secret })
      expectOwn(own, said.json.result.content[0].text)
      await isHidden(other.mcpConversations, (id) => call('teller', { message: 'hi', conversation_id: id }), {
        isRpc: true,
      })
      const read = (uri: string) => askMcp(own.visitor, 'resources/read', { uri }, isNew)
      await isHidden(
        other.resources.filter((uri) => uri.includes('/conversations/')),
        read,
        { isRpc: true },
      )
      const { resources } = (await askMcp(own.visitor, 'resources/list', {}, isNew)).json.result
      const uris: string[] = resources.map(({ uri }: Json) => uri)
      expect(uris.filter((uri) => uri.includes('/conversations/') && other.resources.includes(uri))).to.deep.equal([])
      for (const uri of uris.slice(-MAX_TRIED)) expectOwn(own, (await read(uri)).body)
      const kept = `agent-host://teller/conversations/kept/${TALK.conversation_id}?user=ann`
      expectOwn(own, (await read(kept)).body)
    }
    await isHidden(
      other.states,
      (requestState) =>
        askMcp(
          own.visitor,
          'tools/call',
          {
            name: 'shop',
            arguments: { message: 'pay' },
            requestState,
            inputResponses: { call_1: { action: 'accept', content: { decision: 'approve' } } },
          },
          true,
        ),
      { isRpc: true },
    )
  },
  'POST /api/ui/graphql': async ({ own, other }) => {
    const { visitor } = own
    const before = await listRuns(visitor)
    const { data } = await visitor.graphql(`{
      runs(first: 1) { total }
      list_agents { id latest_run { run_id input } modules { tools { name } } }
      debug_log(agent_id: "teller", limit: 10000) { has_more events { run_id arguments result } }
      metrics(since: 0) { total { count } agents { numbers { count } } }
      server { tracing { is_on written dropped problem missing_bytes } }
      evals { case_files }
    }`)
    expect(data.evals.case_files).to.deep.equal(visitor.tenant === '' ? ['evals/words.jsonl'] : [])
    expect(data.runs.total).to.equal(before.length)
    // Looks at a memory are no turns.
    expect(data.metrics.total.count).to.equal(before.filter((run) => run.entry_point === '__entry__').length)
    expect(new Set(before.map(({ tenant }) => tenant))).to.deep.equal(new Set([visitor.tenant]))
    expect(data.server.tracing).to.deep.equal({ is_on: true, written: 0, dropped: 0, problem: null, missing_bytes: 0 })
    expectOwn(own, JSON.stringify([before, data]))
    for (const agent of ['teller@acme', 'teller@globex', 'teller']) {
      const log = await visitor.graphql(`{ debug_log(agent_id: "${agent}", limit: 10000) { events { run_id } } }`)
      const found: string[] = log.data.debug_log.events.map(({ run_id }: Json) => run_id)
      expect(found.filter((id) => other.runs.includes(id))).to.deep.equal([])
    }
    await isHidden(other.runs, (id) => visitor.ask('POST', '/api/ui/graphql', { query: runQuery(id) }), {
      mayAnswer: true,
    })
  },
  'POST /api/ui/variants': async ({ own, other, api }) => {
    const run = (id: string) =>
      own.visitor.ask(
        'POST',
        `/${api}/responses`,
        { model: 'teller', input: own.visitor.secret },
        { 'x-agent-variant': id },
      )
    await isHidden(other.variants, run)
    expectOwn(own, textOf((await run(own.variants[0] as string)).json))
  },
  'GET /api/ui/runs/{run_id}/tape': async ({ own, other }) => {
    const download = (id: string) => own.visitor.ask('GET', `/api/ui/runs/${id}/tape`)
    await isHidden(other.runs, download)
    await eventually(async () => expect((await download(own.runs[0] as string)).status).to.equal(200))
  },
  'GET /api/ui/live': async ({ own }) => {
    expectOwn(own, own.visitor.live)
    await eventually(() => {
      for (const id of own.runs) expect(own.visitor.live).to.contain(id)
    })
  },
}

const TALK = { conversation_id: 'one-talk' }

/**
 * Has three tenants use a server, and each try to reach what the others have stored, by every operation of its document.
 *
 * @param url of a server of {@link TENANT_PROJECT}, with {@link TENANT_OPTIONS} and {@link TENANT_KEYS}
 * @param rounds how often each of them does everything
 */
export async function walkAsTenants(url: string, rounds: number): Promise<void> {
  const visitors = Object.entries(TENANTS).map(([name, tenant]) => new Visitor(url, tenant, name))
  const stored: Stored[] = []
  try {
    for (const visitor of visitors) await visitor.openLive()
    stored.push(...(await Promise.all(visitors.map((visitor) => use(visitor, rounds)))))
    await checkAllLines(visitors[0] as Visitor)
    for (const own of stored) {
      for (const other of stored.filter((each) => each !== own)) {
        await attack(own, other)
      }
    }
    for (const each of stored) await isUntouched(each)
    for (const own of stored) for (const other of stored.filter((each) => each !== own)) knowsNothingOf(own, other)
  } finally {
    for (const visitor of visitors) visitor.close()
    for (const { socket } of stored) socket?.socket.close()
  }
}

/** The nameless tenant is like any other: one dialect each way is enough for it. */
async function attack(own: Stored, other: Stored): Promise<void> {
  const both = own.visitor.tenant !== '' && other.visitor.tenant !== ''
  for (const [name, line] of Object.entries(LINES)) {
    await line({ own, other, api: own.visitor.tenant === '' ? 'compat' : 'v1' })
    if (both && name.includes('{api}')) await line({ own, other, api: 'compat' })
  }
}

/** A route without a line would be one that nobody has looked at. */
async function checkAllLines(visitor: Visitor): Promise<void> {
  const { paths } = (await visitor.ask('GET', '/openapi.json')).json
  const operations = Object.entries<object>(paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const lines = Object.keys(LINES).flatMap((line) => ['compat', 'v1'].map((api) => line.replace('{api}', api)))
  expect(operations.filter((operation) => !lines.includes(operation))).to.deep.equal([])
  expect(lines.filter((line) => !operations.includes(line))).to.deep.equal([])
}

/** Everything that a server stores, several times over. */
async function use(visitor: Visitor, rounds: number): Promise<Stored> {
  const stored: Stored = {
    visitor,
    responses: [],
    waiting: [],
    approvals: [],
    items: [],
    conversations: [],
    mcpConversations: [],
    states: [],
    resources: [],
    runs: [],
    variants: [],
    unstored: [],
    socket: undefined,
  }
  for (let round = 0; round < rounds; round++) await useOnce(stored, round)
  const socket = await openSocket(visitor.url, visitor.headers)
  stored.socket = socket
  for (let round = 0; round < rounds; round++) {
    const events = await socket.ask({ model: 'teller', input: visitor.secret, store: false })
    visitor.received.push(JSON.stringify(events))
    const { response } = events.at(-1) as Json
    expectOwn(stored, textOf(response))
    stored.unstored.push(response.id)
  }
  for (const isNew of [false, true]) {
    const { resources } = (await askMcp(visitor, 'resources/list', {}, isNew)).json.result
    stored.resources.push(...resources.map(({ uri }: Json) => uri))
  }
  stored.runs.push(...(await listRuns(visitor)).map(({ run_id }) => run_id).slice(0, 3))
  return stored
}

async function useOnce(stored: Stored, round: number): Promise<void> {
  const { visitor } = stored
  const { secret } = visitor
  const api = round % 2 === 0 ? 'compat' : 'v1'
  const create = (body: object, headers = {}) =>
    visitor.ask('POST', `/${api}/responses`, { model: 'teller', ...body }, headers)
  const conversation = (
    await visitor.ask('POST', `/${api}/conversations`, { items: [{ role: 'user', content: secret }] })
  ).json
  stored.conversations.push(conversation.id)
  const talk = { user: 'ann', metadata: TALK }
  for (const reply of [
    await create({ input: secret, ...talk }),
    await create({ input: secret }, { 'idempotency-key': round === 0 ? 'repeated' : `key-${round}` }),
    await create({ input: secret, conversation: conversation.id }),
    await create({ input: secret, background: true }),
  ]) {
    expect(reply.status, reply.body).to.equal(200)
    stored.responses.push(reply.json.id)
    if (reply.json.status === 'completed') expectOwn(stored, textOf(reply.json))
  }
  await eventually(async () => {
    const { json } = await visitor.ask('GET', `/compat/responses/${stored.responses.at(-1)}`)
    expect(json.status).to.equal('completed')
    expectOwn(stored, textOf(json))
  })
  expectOwn(stored, (await create({ input: secret, stream: true })).body)
  const items = await visitor.ask('GET', `/${api}/responses/${stored.responses.at(-4)}/input_items`)
  stored.items.push(items.json.data[0].id)
  // The second waits for the call of an agent that it called.
  for (const model of ['shop', 'clerk']) {
    const waiting = (await create({ model, input: secret })).json
    stored.waiting.push(waiting.id)
    stored.approvals.push(waiting.output.find(({ type }: Json) => type === 'mcp_approval_request').id)
  }
  for (const isNew of [false, true]) {
    const said = (await askMcp(visitor, 'tools/call', { name: 'teller', arguments: { message: secret } }, isNew)).json
    stored.mcpConversations.push(said.result.content.at(-1).text.replace('conversation_id: ', ''))
  }
  const changes = [{ module: 'memory', path: ['min_score'], value: -0.5 }]
  const varied = await visitor.ask('POST', '/api/ui/variants', { agent_id: 'teller', changes })
  expect(varied.status, varied.body).to.equal(201)
  stored.variants.push(varied.json.id)
  const asked = await askMcp(visitor, 'tools/call', { name: 'shop', arguments: { message: secret } }, true)
  stored.states.push(asked.json.result.requestState)
}

/** Nothing of it was read by others, and nothing changed either. */
async function isUntouched({ visitor, responses, waiting, approvals, conversations, states }: Stored): Promise<void> {
  for (const id of [...responses, ...waiting]) {
    expect((await visitor.ask('GET', `/compat/responses/${id}`)).json.status).to.equal('completed')
  }
  for (const id of approvals)
    expect((await visitor.ask('GET', `/compat/approvals/${id}`)).json.status).to.equal('pending')
  for (const id of conversations) {
    const { data } = (await visitor.ask('GET', `/compat/conversations/${id}/items`)).json
    expect(data).to.have.length(3)
  }
  for (const requestState of states) {
    const inputResponses = { call_1: { action: 'accept', content: { decision: 'reject' } } }
    const params = { name: 'shop', arguments: { message: 'pay' }, requestState, inputResponses }
    const { body } = await askMcp(visitor, 'tools/call', params, true)
    expect(body).to.not.contain('requestState is unknown')
  }
}

function knowsNothingOf(own: Stored, other: Stored): void {
  const everything = [...own.visitor.received, own.visitor.live].join('\n')
  expect(everything).to.not.contain(other.visitor.secret)
  const { responses, waiting, approvals, conversations, items, mcpConversations, states, runs, unstored } = other
  for (const id of [responses, waiting, approvals, conversations, items, states, runs, unstored].flat()) {
    expect(everything, id).to.not.contain(id)
  }
  // A resource that does not exist is named in the answer.
  const rest = everything.replaceAll(/Resource not found: [^"]*/g, '')
  for (const id of mcpConversations) expect(rest, id).to.not.contain(id)
}

function isShared(path: string): Line {
  return async ({ own, other, api }) => {
    const [one, another] = await Promise.all(
      [own, other].map(({ visitor }) => visitor.ask('GET', path.replace('{api}', api))),
    )
    expect(one?.body).to.equal(another?.body)
  }
}

function hides(
  method: string,
  kind: 'responses' | 'approvals' | 'conversations',
  path: string,
  end = '',
  body?: object,
): Line {
  return ({ own, other, api }) =>
    isHidden(other[kind], (id) => own.visitor.ask(method, path.replace('{api}', api) + id + end, body))
}

function hidesItems(method: string): Line {
  return async ({ own, other, api }) => {
    const item = (conversation: string, id: string) =>
      own.visitor.ask(method, `/${api}/conversations/${conversation}/items/${id}`)
    await isHidden(other.conversations, (id) => item(id, other.items[0] as string))
    await isHidden(other.items, (id) => item(own.conversations[0] as string, id))
  }
}

/**
 * What another tenant has is answered as what nobody has.
 *
 * @param mayAnswer true where an unknown id is no error
 */
async function isHidden(
  ids: readonly string[],
  ask: (id: string) => Promise<Answer>,
  { mayAnswer = false, isRpc = false } = {},
): Promise<void> {
  expect(ids).to.not.have.length(0)
  const check = async (id: string) => {
    const unknown = madeUp(id)
    expect(unknown).to.not.equal(id)
    const [given, made] = [await ask(id), await ask(unknown)]
    expect([given.status, mask(given.body, id)]).to.deep.equal([made.status, mask(made.body, unknown)])
    if (isRpc) expect(given.body).to.match(/"(error|isError)"/)
    else if (!mayAnswer) expect(given.status, given.body).to.be.within(400, 404)
  }
  const rest = ids.slice(-MAX_TRIED).values()
  const lane = async () => {
    for (const id of rest) await check(id)
  }
  await Promise.all(Array.from({ length: 10 }, lane))
}

function mask(body: string, id: string): string {
  return body.replaceAll(id, '<id>')
}

function expectOwn({ visitor }: Stored, text: string): void {
  const secrets = new Set(text.match(/secret-of-[a-z]+/g))
  expect([...secrets], text.slice(0, 500)).to.deep.equal([visitor.secret])
}

async function listAll({ visitor }: Stored, path: string, more = ''): Promise<string[]> {
  const ids: string[] = []
  for (let after = ''; ; ) {
    const page = (await visitor.ask('GET', `${path}?limit=100${more}${after}`)).json
    ids.push(...page.data.map(({ id }: Json) => id))
    if (!page.has_more) return ids
    after = `&after=${page.last_id}`
  }
}

interface ListedRun {
  readonly run_id: string
  readonly tenant: string
  readonly entry_point: string
}

async function listRuns(visitor: Visitor): Promise<ListedRun[]> {
  const found: ListedRun[] = []
  for (let after = ''; ; ) {
    const fields = 'cursor runs { run_id tenant input output entry_point neighbours { previous next } }'
    const { runs } = (await visitor.graphql(`{ runs(first: 500${after}) { ${fields} } }`)).data
    found.push(...runs.runs)
    if (runs.cursor === null) return found
    after = `, after: "${runs.cursor}"`
  }
}

async function askMcp(visitor: Visitor, method: string, params: object, isNew: boolean): Promise<Answer> {
  const { name } = params as { name?: string }
  const { uri } = params as { uri?: string }
  const headers = isNew ? { ...SDK, 'mcp-method': method, 'mcp-name': name ?? uri ?? '' } : {}
  const meta = isNew ? { _meta: SDK_META } : {}
  const message = { jsonrpc: '2.0', id: 1, method, params: { ...params, ...meta } }
  const answer = await visitor.ask('POST', '/mcp', message, { ...MCP, ...headers })
  const [, data] = /^data: (.*)$/m.exec(answer.body) ?? []
  return data === undefined ? answer : { ...answer, json: JSON.parse(data) }
}

function textOf({ output, ...rest }: Json): string {
  expect(output, JSON.stringify(rest)).to.be.an('array')
  return output.flatMap(({ content = [] }: Json) => content.map(({ text }: Json) => text)).join('')
}

function runQuery(id: string): string {
  return `{ run(run_id: "${id}") { run_id input saved_test { test } events { events { arguments } } } debug_log(agent_id: "teller", run_id: "${id}") { events { run_id } has_more } }`
}
