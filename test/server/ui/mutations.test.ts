import { hash } from 'node:crypto'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { ask, askRaw } from '../../support/graphql.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'

const FILES = {
  'agents/shop.yml': `id: shop
description: Knows orders
modules:
  - { id: main, module: talker }
  - { id: orders, module: orders, config: { prefix: no. } }
  - { id: memory, module: memory/vector-memory }
  - { id: vectors, module: memory/exact-index, scope: agent }
  - { id: embedder, module: embedder/local }`,
  'modules/talker.ts': `import { defineModule, Memory, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Talker', provides: [TextMessageHandler], uses: { tools: ToolProvider, response: Response, memory: Memory },
  create: ({ memory, response }) => ({ async handleText(text, run) {
    if (text === 'wait') await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))
    await memory.store(text, { from: 'user' }, run)
    await response.respondText('stored') } }) })`,
  'modules/orders.ts': `import { defineModule, ToolProvider, Type } from 'agent-host'
export default defineModule({ name: 'Orders', provides: [ToolProvider], config: Type.Object({ prefix: Type.String() }),
  create: (_, { prefix }) => ({ listTools: () => [],
    async executeTool(name, args) { if (args.id === 13) throw new Error('There is no order 13'); return { text: name + ' ' + prefix + args.id } } }) })`,
}
const OWN = { origin: 'http://localhost:80' }
const CALL =
  'mutation($args: JSON!) { call_tool(agent_id: "shop", module_id: "orders", name: "find", arguments: $args) { run_id result error } }'

const OTHERS = [
  'read_memory(agent_id: "shop", module_id: "memory", limit: 3)',
  'memory_owners(agent_id: "shop", module_id: "memory")',
  'forget_memory(agent_id: "shop", module_id: "memory", id: "none")',
  'read_conversation(agent_id: "shop", module_id: "main")',
  'stop_run(run_id: "none")',
  'clear_log(agent_id: "shop")',
]

describe('mutations of the debug UI', () => {
  afterEach(closeServers)
  const serve = () => makeServer({ debug: true, metrics: true, development: true, logLevel: 'silent' }, FILES)

  it('calls a single tool as a traced run', async () => {
    const server = await serve()
    const { call_tool } = await ask<{ call_tool: { run_id: string; result: unknown; error: unknown } }>(
      server,
      CALL,
      { args: { id: 42 } },
      OWN,
    )
    expect([call_tool.result, call_tool.error]).deep.equal([{ text: 'find no.42' }, null])
    const run = '{ run(run_id: "ID") { agent_id entry_point status calls events { events { kind label } } } }'
    expect(await ask(server, run.replace('ID', call_tool.run_id))).deep.equal({
      run: {
        agent_id: 'shop',
        entry_point: 'orders',
        status: 'completed',
        calls: 1,
        events: {
          events: [
            { kind: 'tool', label: 'find(42)' },
            { kind: 'tool', label: null },
            { kind: 'agent', label: null },
          ],
        },
      },
    })
    const failed = await ask<{ call_tool: object }>(server, CALL, { args: { id: 13 } }, OWN)
    expect(failed.call_tool).include({ result: null, error: 'There is no order 13' })
  })

  it('allows mutations only in development, and only from its own page', async () => {
    const server = await serve()
    const refuse = async (target: typeof server, headers: Record<string, string>) => {
      const { errors } = await askRaw(target, { query: CALL, variables: { args: {} } }, headers)
      return errors?.[0]?.message
    }
    const foreign = 'Only the debug UI itself may do this.'
    for (const site of ['cross-site', 'same-site', 'none']) {
      expect([site, await refuse(server, { 'sec-fetch-site': site })]).deep.equal([site, foreign])
    }
    expect(await refuse(server, {})).equal(foreign)
    for (const mutation of OTHERS) {
      for (const site of ['same-site', 'none']) {
        const { errors } = await askRaw(server, { query: `mutation { ${mutation} }` }, { 'sec-fetch-site': site })
        expect([mutation, errors?.[0]?.message]).deep.equal([mutation, foreign])
      }
    }
    const served = await makeServer({ debug: true, logLevel: 'silent' }, FILES)
    expect(await refuse(served, OWN)).equal('Only agent-host dev does this.')
    expect(await ask(served, '{ server { development } }')).deep.equal({ server: { development: false } })
  })

  it('shows the latest or the nearest entries of a memory', async () => {
    const server = await serve()
    for (const text of ['The lamp is red', 'The cable is long']) {
      await server.app.inject({ method: 'POST', url: '/compat/chat/completions', payload: chat('shop', text) })
    }
    const read = async (more = '') => {
      const query = `mutation { read_memory(agent_id: "shop", module_id: "memory"${more}) }`
      const { read_memory } = await ask<{ read_memory: { text: string }[] }>(server, query, undefined, OWN)
      return read_memory.map(({ text }) => text)
    }
    expect(await read()).deep.equal(['The cable is long', 'The lamp is red'])
    expect(await read(', search: "which lamp", limit: 1')).deep.equal(['The lamp is red'])
    // What was only looked at is no run.
    const counted = '{ runs { total } metrics { total { count } } debug_log(agent_id: "shop") { events { run_id } } }'
    // A run ends a moment after its answer.
    await eventually(async () => {
      const { runs, metrics, debug_log } = await ask<{
        runs: object
        metrics: object
        debug_log: { events: { run_id: string }[] }
      }>(server, counted)
      expect([runs, metrics]).deep.equal([{ total: 2 }, { total: { count: 2 } }])
      expect(new Set(debug_log.events.map(({ run_id }) => run_id)).size).equal(2)
    })
    expect((await server.app.inject('/metrics')).body).match(/agent_host_runs_total\{[^}]*"completed"[^}]*\} 2\n/)
    const { errors } = await askRaw(
      server,
      { query: 'mutation { read_memory(agent_id: "shop", module_id: "orders") }' },
      OWN,
    )
    expect(errors?.[0]?.message).equal("Agent 'shop' has no module 'orders' that provides Memory.")
  })

  it('counts what is remembered by tenant and user: all for who sees all, and their own for a key of a tenant', async () => {
    const keys = ['acme', 'other'].map((name) => {
      const digest = `sha256:${hash('sha256', `key-of-${name}`)}`
      return `  - { name: ${name}, tenant: ${name}, digest: "${digest}", scopes: [run, approve, debug] }\n`
    })
    const perUser = FILES['agents/shop.yml'].replace('memory/vector-memory', '$&, config: { per_user: true }')
    const server = await makeServer(
      { debug: true, development: true, logLevel: 'silent', keys: 'keys.yml', uiToken: 'token-of-all' },
      { ...FILES, 'agents/shop.yml': perUser, 'keys.yml': `keys:\n${keys.join('')}` },
    )
    const by = (key: string) => ({ ...OWN, authorization: `Bearer ${key}` })
    for (const [name, user] of [
      ['acme', 'ada'],
      ['acme', 'ada'],
      ['other', 'bob'],
    ] as const) {
      const payload = chat('shop', 'The lamp is red', { user })
      await server.app.inject({ method: 'POST', url: '/v1/chat/completions', payload, headers: by(`key-of-${name}`) })
    }
    const place = 'agent_id: "shop", module_id: "memory"'
    const count = async (key: string) =>
      (await ask(server, `mutation { memory_owners(${place}) }`, undefined, by(key))).memory_owners
    expect(await count('token-of-all')).deep.equal([
      { tenant: 'acme', user: 'ada', count: 2 },
      { tenant: 'other', user: 'bob', count: 1 },
    ])
    expect(await count('key-of-acme')).deep.equal([{ tenant: '', user: 'ada', count: 2 }])
    const read = (key: string, more: string) =>
      askRaw(server, { query: `mutation { read_memory(${place}, user: "bob"${more}) }` }, by(key))
    expect((await read('token-of-all', ', tenant: "other"')).data).nested.property(
      'read_memory[0].text',
      'The lamp is red',
    )
    expect((await read('key-of-acme', '')).data).deep.equal({ read_memory: [] })
    expect((await read('key-of-acme', ', tenant: "other"')).errors?.[0]?.message).equal(
      'This key is not of that tenant.',
    )
    const forget = (key: string) =>
      askRaw(server, { query: `mutation { forget_memory(${place}, user: "ada") }` }, by(key))
    const approves = "This needs a key with the scope 'approve'."
    expect((await forget('token-of-all')).errors?.[0]?.message).equal(approves)
    expect((await forget('key-of-other')).data).deep.equal({ forget_memory: 0 })
    expect((await forget('key-of-acme')).data).deep.equal({ forget_memory: 2 })
  })

  it("shows a conversation as its user's next request would see it", async () => {
    const agent = `id: keeper
modules:
  - { id: history, module: conversation/persistent }
  - { id: llm, module: llm/mock, config: { replies: [noted] } }
  - { id: loop, module: orchestrator/tool-loop }`
    const server = await makeServer(
      { debug: true, development: true, logLevel: 'silent' },
      { 'agents/keeper.yml': agent },
    )
    const metadata = { conversation_id: 'blue' }
    const payload = chat('keeper', 'the lamp', { user: 'ann', metadata })
    await server.app.inject({ method: 'POST', url: '/compat/chat/completions', payload })
    const read = async (owner: object) => {
      const query = `mutation($user: String, $metadata: JSON) {
        read_conversation(agent_id: "keeper", module_id: "history", user: $user, metadata: $metadata) }`
      const answer = await ask<{ read_conversation: { content: string }[] }>(server, query, owner, OWN)
      return answer.read_conversation.map(({ content }) => content)
    }
    expect(await read({ user: 'ann', metadata })).deep.equal(['the lamp', 'noted'])
    expect(await read({ user: 'bob', metadata })).deep.equal([])
    expect(await read({})).deep.equal([])
  })

  it('stops a run, which then counts as cancelled, not as an error', async () => {
    const server = await serve()
    const asked = server.app.inject({ method: 'POST', url: '/compat/chat/completions', payload: chat('shop', 'wait') })
    const running = '{ runs(filter: { status: "running" }) { runs { run_id } } }'
    const id = await eventually(async () => {
      const { runs } = await ask<{ runs: { runs: { run_id: string }[] } }>(server, running)
      const [run] = runs.runs
      if (!run) throw new Error('It does not run yet.')
      return run.run_id
    })
    const stop = `mutation { stop_run(run_id: "${id}") }`
    expect(await ask(server, stop, undefined, OWN)).deep.equal({ stop_run: true })
    await asked
    await eventually(async () =>
      expect(await ask(server, `{ run(run_id: "${id}") { status errors error } }`)).deep.equal({
        run: { status: 'cancelled', errors: 0, error: null },
      }),
    )
    expect(await ask(server, stop, undefined, OWN)).deep.equal({ stop_run: false })
  })

  it('clears the traces of an agent', async () => {
    const server = await serve()
    for (const model of ['shop', 'echo']) {
      await server.app.inject({ method: 'POST', url: '/compat/chat/completions', payload: chat(model, 'hi') })
    }
    await ask(server, '{ runs { total } }')
    await ask(server, 'mutation { clear_log(agent_id: "shop") }', undefined, OWN)
    expect(
      await ask(server, '{ runs { runs { agent_id } } debug_log(agent_id: "shop") { events { time } } }'),
    ).deep.equal({
      runs: { runs: [{ agent_id: 'echo' }] },
      debug_log: { events: [] },
    })
    await server.app.inject({ method: 'POST', url: '/compat/chat/completions', payload: chat('shop', 'again') })
    const after = '{ runs(filter: { agent_id: "shop" }) { runs { input } } }'
    expect(await ask(server, after)).deep.equal({ runs: { runs: [{ input: 'again' }] } })
  })
})
