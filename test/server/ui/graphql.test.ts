import { expect } from 'chai'
import { GraphQLObjectType, getIntrospectionQuery, printType } from 'graphql'
import { serverAudits } from 'graphql-http'
import { readSchema } from '../../../src/server/adapters/ui/queries/graphql.ts'
import { mayBeWide } from '../../../src/server/adapters/ui/queries/resolve-in-turns.ts'
import { viewLines } from '../../../src/server/adapters/ui/queries/run-view.ts'
import { countTurns } from '../../support/count-turns.ts'
import { eventOf } from '../../support/events.ts'
import { eventually } from '../../support/eventually.ts'
import { ask, askRaw } from '../../support/graphql.ts'
import { longestPause } from '../../support/longest-pause.ts'
import { AGENTS, chat, closeServers, makeServer } from '../../support/server.ts'

const CANARY = 'canary-0123456789'
const SECRETIVE = {
  'agents/secretive.yml': `id: secretive
description: Has secrets
modules:
  - { id: main, module: secretive, config: { api_key: literal-secret, token: "\${UI_TEST_KEY}", note: "\${UI_TEST_KEY}!", city: Lima } }`,
  'modules/secretive.ts': `import { defineModule, Response, TextMessageHandler, Type } from 'agent-host'
export default defineModule({ name: 'Secretive', provides: [TextMessageHandler], uses: { response: Response },
  config: Type.Object({ api_key: Type.String(), token: Type.String(), note: Type.String(), city: Type.String() }),
  create: ({ response }) => ({ async handleText(text) { await response.respondText('the key is ${CANARY}'); throw new Error('${CANARY} broke') } }) })`,
}

const TOOLS = {
  'agents/tools.yml': `id: tools
description: Uses tools
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [{ tool_calls: [{ name: add, arguments: { a: 1, b: 2 } }] }, { text: three, usage: { input_tokens: 5, output_tokens: 1 } }] } }
  - { id: sums, module: sums }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/sums.ts': `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Sums', provides: [ToolProvider],
  create: () => ({
    listTools: () => [{ name: 'add', description: 'Adds', isChanged: true, parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } } }],
    async executeTool(name, { a, b }) { return { text: String(a + b) } } }) })`,
}

const TEAM = {
  ...TOOLS,
  'agents/desk.yml': `id: desk
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [{ tool_calls: [{ name: tools, arguments: { message: go } }] }, done] } }
  - { id: team, module: tools/agents, config: { agents: [tools] } }
  - { id: loop, module: orchestrator/tool-loop }`,
}

/** Agent with the versions of its file. */
interface History {
  readonly version: string
  readonly loads: readonly {
    readonly kind: string
    readonly version: string | null
    readonly definition: string | null
  }[]
}

describe('GraphQL of the debug UI', () => {
  const complete = (server: Awaited<ReturnType<typeof makeServer>>, model: string, text = 'hi') =>
    server.app.inject({ method: 'POST', url: '/compat/chat/completions', payload: chat(model, text) })
  before(() => {
    process.env.UI_TEST_KEY = CANARY
  })
  after(() => {
    delete process.env.UI_TEST_KEY
  })
  afterEach(closeServers)

  it('has at least the types and fields of the specification', () => {
    const schema = readSchema()
    const fieldsOf = (name: string) => {
      const type = schema.getType(name)
      if (!(type instanceof GraphQLObjectType)) throw new Error(`${name} is no object type`)
      return Object.fromEntries(Object.values(type.getFields()).map((field) => [field.name, String(field.type)]))
    }
    const event =
      'agent_id event_name event_type module_id module_class method_name time call_id caller_id arguments result exception'
    expect(fieldsOf('Agent')).include({
      id: 'String!',
      description: 'String!',
      modules: '[Module!]!',
      exchange: '[Exchange!]!',
    })
    expect(fieldsOf('Module')).include({
      id: 'String!',
      module: 'String!',
      config: 'JSON',
      provides: '[String!]',
      uses: '[String!]',
    })
    expect(fieldsOf('Exchange')).deep.equal({
      module: 'String!',
      protocol: 'String!',
      provider: 'String!',
      fieldName: 'String',
    })
    expect(fieldsOf('DebugTrace')).include({ agent_id: 'String!', events: '[Event!]!' })
    expect(Object.keys(fieldsOf('Event'))).include.members(event.split(' '))
    const query = printType(schema.getQueryType() as GraphQLObjectType)
    expect(query).contain('list_agents: [Agent!]!').contain('agent_config(agent_id: String!): Agent!')
    expect(query).match(/debug_log\(agent_id: String!, .*\): DebugTrace!/)
    expect(schema.getType('Trace')).equal(undefined)
  })

  it('resolves every field of its schema', async () => {
    const server = await makeServer({ debug: true }, TOOLS)
    await complete(server, 'tools')
    const introspection = await ask(server, getIntrospectionQuery())
    expect(introspection).property('__schema')
    const run =
      'run_id agent_id entry_point server agent_version status incomplete continues continued_by started_at duration_ms first_text_ms calls errors input output error input_tokens output_tokens models { model input_tokens output_tokens cached_input_tokens reasoning_tokens cost } cost neighbours { previous next }'
    const event =
      'agent_id event_name event_type module_id module_class method_name time call_id caller_id arguments result exception run_id parent_call_id entry_point agent_version duration_ms index kind label is_aborted is_waiting usage { model cost }'
    const problem = 'file line column message suggestions'
    const numbers =
      'numbers { count errors incomplete p50_ms p95_ms first_text_p50_ms input_tokens output_tokens models { model cost } cost }'
    const data = await ask(
      server,
      `{ list_agents { id description title entry_points file definition
          modules { id module config provides uses module_class description source scope tools { name description parameters is_changed } }
          exchange { module protocol provider fieldName } loads { time file kind problems { ${problem} } } latest_run { ${run} } }
        debug_log(agent_id: "tools") { agent_id has_more events { ${event} } }
        runs { total cursor runs { ${run} events { cursor has_more elsewhere events { ${event} } } } }
        metrics { since until bucket_seconds total { count } points { time ${numbers} } agents { agent_id last_at counts ${numbers} } versions { agent_id agent_version first_at last_at ${numbers} } modules { agent_id module_id ${numbers} } tools { agent_id tool_name ${numbers} } }
        problems { ${problem} }
        server { version name shares_runs adapters adapters_with_key prices_date tracing { is_on written dropped problem missing_bytes } } }`,
    )
    expect(Object.keys(data)).deep.equal(['list_agents', 'debug_log', 'runs', 'metrics', 'problems', 'server'])
  })

  it('lists agents, and shows how one is wired', async () => {
    const server = await makeServer({ debug: true }, TOOLS)
    expect(await ask(server, '{ list_agents { id } }')).deep.equal({
      list_agents: ['desk', 'echo', 'model', 'probe', 'tools'].map((id) => ({ id })),
    })
    const query = `{ agent_config(agent_id: "tools") { id description file
      modules { id module module_class source scope provides uses } exchange { module protocol provider fieldName } } }`
    const library = { source: 'library' }
    expect(await ask(server, query)).deep.equal({
      agent_config: {
        id: 'tools',
        description: 'Uses tools',
        file: 'agents/tools.yml',
        modules: [
          {
            id: 'llm',
            module: 'llm/mock',
            module_class: 'MockLLM',
            ...library,
            scope: 'agent',
            provides: ['LLM'],
            uses: [],
          },
          {
            id: 'sums',
            module: 'sums',
            module_class: 'Sums',
            source: 'project',
            scope: 'instance',
            provides: ['ToolProvider'],
            uses: [],
          },
          {
            id: 'loop',
            module: 'orchestrator/tool-loop',
            module_class: 'ToolLoop',
            ...library,
            scope: 'instance',
            provides: ['TextMessageHandler'],
            uses: ['LLM', 'ToolProvider', 'ConversationHistory', 'Response'],
          },
        ],
        exchange: [
          { module: '__entry__', protocol: 'TextMessageHandler', provider: 'loop', fieldName: null },
          { module: 'loop', protocol: 'LLM', provider: 'llm', fieldName: 'llm' },
          { module: 'loop', protocol: 'ToolProvider', provider: 'sums', fieldName: 'tools' },
          { module: 'loop', protocol: 'ConversationHistory', provider: '__conversation__', fieldName: 'history' },
          { module: 'loop', protocol: 'Response', provider: '__response__', fieldName: 'response' },
        ],
      },
    })
    const missing = await askRaw(server, { query: '{ agent_config(agent_id: "nobody") { id } }' })
    expect([missing.status, missing.data, missing.errors?.[0]?.message]).deep.equal([
      200,
      null,
      "Agent 'nobody' not found",
    ])
  })

  it("marks the project's copy of a library module as ejected", async () => {
    const copy = `export { default } from '../modules-of-the-project/echo.ts'`
    const server = await makeServer(
      { debug: true },
      { 'modules/echo.ts': copy, 'modules-of-the-project/echo.ts': ECHO },
    )
    const { agent_config } = await ask<{ agent_config: unknown }>(
      server,
      '{ agent_config(agent_id: "echo") { modules { source } } }',
    )
    expect(agent_config).deep.equal({ modules: [{ source: 'ejected' }] })
  })

  it('returns traces: runs, their events, tools and tokens', async () => {
    const server = await makeServer({ debug: true }, TOOLS)
    const { id } = (await complete(server, 'tools', 'what is 1 + 2?')).json()
    const runId = id.replace('chatcmpl-', '')
    const query = `query($id: String!) { run(run_id: $id) { status input output calls errors input_tokens output_tokens
      events(method_name: "executeTool") { events { event_type arguments result duration_ms caller_id } } } }`
    const { run } = await ask<{ run: { events: { events: Record<string, unknown>[] } } }>(server, query, { id: runId })
    const { events, ...facts } = run
    expect(facts).deep.equal({
      status: 'completed',
      input: 'what is 1 + 2?',
      output: 'three',
      // Without those to what the run itself provides.
      calls: 5,
      errors: 0,
      input_tokens: 5,
      output_tokens: 1,
    })
    const [call, result] = events.events
    expect(call?.arguments).deep.equal({ args: ['add', { a: 1, b: 2 }, { run: runId }] })
    expect([call?.event_type, call?.caller_id, call?.duration_ms]).deep.equal(['call', 'loop', null])
    expect([result?.event_type, result?.result]).deep.equal(['result', { text: '3' }])
    const tools = '{ agent_config(agent_id: "tools") { modules { id tools { name parameters is_changed } } } }'
    const { agent_config } = await ask<{ agent_config: { modules: { id: string; tools: unknown }[] } }>(server, tools)
    const parameters = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } }
    expect(agent_config.modules.map(({ id, tools }) => [id, tools])).deep.equal([
      ['llm', null],
      ['sums', [{ name: 'add', parameters, is_changed: true }]],
      ['loop', null],
    ])
    expect(await ask(server, '{ run(run_id: "nothing") { status } }')).deep.equal({ run: null })
  })

  it('returns a run with those below it as one, a page at a time', async () => {
    const server = await makeServer({ debug: true }, TEAM)
    await complete(server, 'desk', 'go')
    const list =
      '{ runs(filter: { top_level: true }) { total runs { run_id agent_id children below { agent_id parent_run_id } } } }'
    const { runs } = await ask<{ runs: { total: number; runs: Record<string, unknown>[] } }>(server, list)
    const [{ run_id: id, ...desk }] = runs.runs as [Record<string, unknown>]
    expect([runs.total, desk]).deep.equal([
      1,
      { agent_id: 'desk', children: 1, below: [{ agent_id: 'tools', parent_run_id: id }] },
    ])
    const query = `query($id: String!, $after: String) { run(run_id: $id) { events(below: true, first: 3, after: $after) {
      cursor has_more events { agent_id event_type call_id parent_run_call_id method_name } } } }`
    const events: Record<string, string | null>[] = []
    for (let after: string | null = null; ; ) {
      const page: { run: { events: { cursor: string; has_more: boolean; events: typeof events } } } = await ask(
        server,
        query,
        { id, after },
      )
      events.push(...page.run.events.events)
      after = page.run.events.cursor
      if (!page.run.events.has_more) break
    }
    const whole = await ask<{ run: { events: { events: unknown[] } } }>(
      server,
      query.replace('first: 3', 'first: 5000'),
      { id },
    )
    expect(events).deep.equal(whole.run.events.events)
    const begun = events.findIndex(({ agent_id }) => agent_id === 'tools')
    const around = events.find(({ call_id }) => call_id === events[begun]?.parent_run_call_id)
    expect([around?.agent_id, around?.method_name]).deep.equal(['desk', 'executeTool'])
    expect(events.at(-1)).include({ agent_id: 'desk', event_type: 'end' })
    const foreign = { 'sec-fetch-site': 'cross-site' }
    const hidden = await ask(
      server,
      '{ runs { runs { parent_run_call_id below { run_id input } } } }',
      undefined,
      foreign,
    )
    expect(JSON.stringify(hidden)).not.contain(String(id)).not.contain('"go"')
    expect(JSON.stringify(await ask(server, query, { id }, foreign))).not.contain('"agent_id":"tools"')
  })

  it('returns the log of an agent, by limit, run, type and module', async () => {
    const server = await makeServer({ debug: true })
    await complete(server, 'echo', 'one')
    const { id } = (await complete(server, 'echo', 'two')).json()
    const log = async (more: string) => {
      const { debug_log } = await ask<{
        debug_log: { agent_id: string; events: { event_type: string; module_id: string }[] }
      }>(server, `{ debug_log(agent_id: "echo"${more}) { agent_id events { event_type module_id } } }`)
      return debug_log.events.map(({ event_type, module_id }) => `${module_id} ${event_type}`)
    }
    const run = ['main call', '__response__ call', '__response__ result', 'main result', '__run__ end']
    expect(await log('')).deep.equal([...run, ...run])
    expect(await log(', limit: 6')).deep.equal(['__run__ end', ...run])
    expect(await log(`, run_id: "${id.replace('chatcmpl-', '')}"`)).deep.equal(run)
    expect(await log(`, run_id: "${id.replace('chatcmpl-', '')}", module_id: "main"`)).deep.equal([
      'main call',
      'main result',
    ])
    expect(await log(', event_type: "call", module_id: "main"')).deep.equal(['main call', 'main call'])
    expect(await ask(server, '{ debug_log(agent_id: "nobody") { agent_id events { time } } }')).deep.equal({
      debug_log: { agent_id: 'nobody', events: [] },
    })
    const half = 'query Q($id: String!) { debug_log(agent_id: $id) { events { time } } }'
    expect(await ask(server, half, { id: 'half \ud83d' })).deep.equal({ debug_log: { events: [] } })
  })

  it('returns the latest 10,000 events of a log when no limit is given, and says that there are more', async () => {
    const line = (index: number) => JSON.stringify(eventOf({ event_type: 'call', call_id: String(index) }))
    const log = Array.from({ length: 10_001 }, (_, index) => line(index)).join('\n')
    const server = await makeServer({ debug: true }, { 'debug/echo.jsonl': `${log}\n` })
    const { debug_log } = await ask<{ debug_log: { has_more: boolean; events: { call_id: string }[] } }>(
      server,
      '{ debug_log(agent_id: "echo") { has_more events { call_id } } }',
    )
    const { has_more, events } = debug_log
    expect([has_more, events.length, events[0]?.call_id, events.at(-1)?.call_id]).deep.equal([
      true,
      10_000,
      '1',
      '10000',
    ])
  })

  it('pages through runs, and counts them', async () => {
    const server = await makeServer({ debug: true })
    for (let run = 0; run < 5; run++) await complete(server, run === 2 ? 'model' : 'echo', `turn ${run}`)
    const seen: string[] = []
    let after: string | null = null
    do {
      const page: { runs: { total: number; cursor: string | null; runs: { input: string }[] } } = await ask(
        server,
        'query($after: String) { runs(filter: { agent_id: "echo" }, first: 3, after: $after) { total cursor runs { input } } }',
        { after },
      )
      expect(page.runs.total).equal(4)
      seen.push(...page.runs.runs.map(({ input }) => input))
      after = page.runs.cursor
    } while (after !== null)
    expect(seen).deep.equal(['turn 4', 'turn 3', 'turn 1', 'turn 0'])
  })

  it('reports invalid files, and their latest state', async () => {
    const server = await makeServer(
      { debug: true, logLevel: 'silent' },
      { 'agents/bad.yml': 'id: bad\nmodules: [{ id: a, module: nope }]' },
    )
    const { problems } = await ask<{ problems: { file: string; line: number; message: string }[] }>(
      server,
      '{ problems { file line message } }',
    )
    expect(problems.map(({ file, line }) => [file, line])).deep.equal([['agents/bad.yml', 2]])
    expect(problems[0]?.message).contain("'nope' was not found")
    await server.project.write('agents/echo.yml', 'id: echo\nmodules: [{ id: main, module: nope }]')
    await server.agents.scan()
    const { agent_config } = await ask<{
      agent_config: { definition: string; loads: { kind: string; problems: object[] }[] }
    }>(server, '{ agent_config(agent_id: "echo") { definition loads { kind problems { line } } } }')
    expect(agent_config.loads).deep.equal([
      { kind: 'rejected', problems: [{ line: 2 }] },
      { kind: 'registered', problems: [] },
    ])
    // The version in service, not the one that was refused.
    expect(agent_config.definition).contain('module: echo')
  })

  it('shows no secrets in config, definition, traces or errors', async () => {
    const server = await makeServer({ debug: true }, SECRETIVE)
    await complete(server, 'secretive', `mine is ${CANARY}`)
    const query = `{ agent_config(agent_id: "secretive") { definition modules { config } }
      runs { runs { input output error events { events { arguments result exception } } } } }`
    const data = await ask<{ agent_config: { definition: string; modules: { config: unknown }[] } }>(server, query)
    expect(JSON.stringify(data)).not.contain('canary-').not.contain('literal-secret')
    expect(data.agent_config.modules[0]?.config).deep.equal({
      api_key: '[redacted]',
      token: '${UI_TEST_KEY}',
      note: '${UI_TEST_KEY}!',
      city: 'Lima',
    })
    expect(data.agent_config.definition).contain('api_key: [redacted], token: "${UI_TEST_KEY}"')
    expect(JSON.stringify(data)).contain('the key is [redacted]').contain('Error: [redacted] broke')
    const failures = '{ debug_log(agent_id: "secretive", event_type: "exception") { events { folded_exception } } }'
    const { debug_log: log } = await ask<{ debug_log: { events: { folded_exception: string }[] } }>(server, failures)
    expect(log.events[0]?.folded_exception).match(
      /^Error: \[redacted\] broke\n +at Object\.handleText \(.*secretive\.ts:4:\d+\)\n +\+\d+ internal frames$/,
    )
  })

  it('shows config and events whole where a text names the beginning of a private key, or a number has the digits of a secret', async () => {
    const begins = 'It begins with -----BEGIN PRIVATE KEY-----'
    const agent = SECRETIVE['agents/secretive.yml']
      .replace('"${UI_TEST_KEY}!"', `"${begins}, always."`)
      .replace('Lima', '123456789')
    const code = SECRETIVE['modules/secretive.ts'].replace('city: Type.String()', 'city: Type.Number()')
    process.env.UI_TEST_PASSWORD = '12345678'
    const files = { ...SECRETIVE, 'agents/secretive.yml': agent, 'modules/secretive.ts': code }
    const server = await makeServer({ debug: true }, files).finally(() => delete process.env.UI_TEST_PASSWORD)
    await complete(server, 'secretive', `${begins}, always.`)
    const query = `{ agent_config(agent_id: "secretive") { modules { config } }
      debug_log(agent_id: "secretive", event_type: "call") { events { method_name arguments } } }`
    const { agent_config: shown, debug_log: log } = await ask<{
      agent_config: { modules: { config: { note: string; city: unknown } }[] }
      debug_log: { events: { method_name: string; arguments: { args: unknown[] } }[] }
    }>(server, query)
    expect(shown.modules[0]?.config).include({ note: `${begins}[redacted]`, city: '[redacted]9' })
    const called = log.events.find(({ method_name }) => method_name === 'handleText')
    expect(called?.arguments.args[0]).equal(`${begins}[redacted]`)
  })

  it('shows no fields that a schema marks as secret', async () => {
    const servers = `- name: files
          command: no-such-program
          args: &args [--root, here, --token, arg-canary, --api-key=arg-canary, "\${UI_TEST_KEY:-none}"]
          env: { CITY: env-canary, NAME: "\${UI_TEST_KEY}" }
        - { name: web, url: "http://127.0.0.1:1/mcp", headers: { x-a: header-canary }, bearer: bearer-canary }
        - { name: again, command: no-such-program, args: *args }`
    const server = await makeServer(
      { debug: true },
      {
        'agents/mcp.yml': `id: mcp
description: Has servers
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [ok] } }
  - id: tools
    module: tools/mcp
    config:
      servers:
        ${servers}
  - { id: loop, module: orchestrator/tool-loop }`,
      },
    )
    const query = '{ agent_config(agent_id: "mcp") { definition modules { id config } } }'
    const data = await ask<{ agent_config: { definition: string; modules: { config: unknown }[] } }>(server, query)
    expect(JSON.stringify(data)).not.contain('canary')
    expect(data.agent_config.modules[1]?.config)
      .property('servers')
      .property('0')
      .include({ name: 'files' })
      .deep.include({
        args: ['--root', 'here', '--token', '[redacted]', '[redacted]', '${UI_TEST_KEY:-none}'],
        env: { CITY: '[redacted]', NAME: '${UI_TEST_KEY}' },
      })
    expect(data.agent_config.definition).contain(
      'args: &args [--root, here, --token, [redacted], [redacted], "${UI_TEST_KEY:-none}"]',
    )
    // Nor does an earlier version, whose secrets stand elsewhere.
    await server.project.write(
      'agents/mcp.yml',
      'id: mcp\ndescription: Has none\nmodules: [{ id: llm, module: llm/mock, config: { replies: [ok] } }, { id: loop, module: orchestrator/tool-loop }]',
    )
    await server.agents.scan()
    const history = '{ agent_config(agent_id: "mcp") { version loads { kind version definition } } }'
    const { agent_config: agent } = await ask<{ agent_config: History }>(server, history)
    expect(agent.loads.map(({ kind }) => kind)).deep.equal(['reloaded', 'registered'])
    expect(agent.loads[0]).include({ version: agent.version })
    expect(agent.loads[1]?.definition).equal(data.agent_config.definition)
    expect(agent.loads[1]?.version)
      .match(/^[0-9a-f]{64}$/)
      .and.not.equal(agent.version)
  })

  it('shows no keys from flags', async () => {
    const server = await makeServer({ debug: true, mcpApiKey: 'canary-flag-0123' })
    await complete(server, 'echo', 'the key is canary-flag-0123')
    const data = await ask(
      server,
      '{ runs { runs { input output } } debug_log(agent_id: "echo") { events { arguments } } }',
    )
    expect(JSON.stringify(data)).contain('the key is [redacted]').not.contain('canary')
  })

  it('tells pages of other sites that something happened, without content', async () => {
    const server = await makeServer({ debug: true }, SECRETIVE)
    await server.host.run('echo', 'private words', { user: 'private words of ann', conversation: 'private words' })
    const query = `{ runs { runs { agent_id user conversation input output events { events { method_name arguments result exception } } } }
      agent_config(agent_id: "echo") { definition modules { id config } loads { definition } } }`
    const data = await ask(server, query, undefined, { 'sec-fetch-site': 'cross-site' })
    expect(JSON.stringify(data)).not.contain('private words')
    expect(data)
      .property('agent_config')
      .deep.equal({ definition: null, modules: [{ id: 'main', config: null }], loads: [{ definition: null }] })
    expect(JSON.stringify(data)).contain('"method_name":"respondText","arguments":null')
    const elsewhere = { 'sec-fetch-site': 'cross-site' }
    for (const filter of ['user: "private words of ann"', 'text: "private"', 'conversation: "private words"']) {
      const counted = await ask(server, `{ runs(filter: { ${filter} }) { total } }`, undefined, elsewhere)
      expect([filter, counted]).deep.equal([filter, { runs: { total: 0 } }])
    }
    const own = await ask(server, query, undefined, { origin: 'http://localhost:80' })
    expect(JSON.stringify(own)).contain('private words of ann')
  })

  it('answers with a limited number of events, page by page, and delays nobody', async () => {
    const server = await makeServer({ debug: true })
    for (let n = 0; n < 60; n++) await server.host.run('echo', `${n} `.padEnd(3000, 'x'))
    await server.host.run('probe', 'flood 1000')
    const names = Array.from({ length: 45 }, (_, n) => `e${n}`)
    const fields = names.map((name) => `${name}: events(first: 5000) { events { arguments result digest } }`)
    const values = names.map((name) => `${name}: arguments`)
    const queries = {
      runs: `{ runs(first: 500) { runs { ${fields.join(' ')} } } }`,
      names: `{ runs(first: 1) { runs { events(first: 5000) { events { ${values.join(' ')} } } } } }`,
    }
    const tooMany = 'A query answers with 10000 events at most, or 64 MiB of them (a tenth without their content)'
    for (const [what, query] of Object.entries(queries)) {
      let answer: Awaited<ReturnType<typeof askRaw>> | undefined
      const pausedMs = await longestPause(async () => {
        answer = await askRaw(server, { query })
      })
      const messages = new Set(answer?.errors?.map(({ message }) => message.split(':', 1)[0]))
      expect([what, ...messages]).deep.equal([what, tooMany])
      if (what === 'runs') expect(pausedMs).lessThan(500)
    }
    const few =
      '{ runs(first: 1) { runs { a: events(first: 4000) { events { result } } b: events(first: 4000) { events { result } } } } }'
    const { runs } = await ask<{ runs: { runs: { a: object; b: object }[] } }>(server, few)
    expect(runs.runs[0]?.a).deep.equal(runs.runs[0]?.b)
    expect(JSON.stringify(runs).length).greaterThan(1000)
  })

  it('answers wide queries in turns, with a limited number of fields', async () => {
    const server = await makeServer({ debug: true })
    await server.host.run('probe', 'flood 1000')
    const repeat = (count: number, field: string) =>
      Array.from({ length: count }, (_, n) => `${field[0]}${n}: ${field}`).join(' ')
    const log = `{ debug_log(agent_id: "probe") { events { index method_name ${repeat(45, 'method_name')} result } } }`
    const { debug_log } = await ask<{ debug_log: { events: Record<string, unknown>[] } }>(server, log)
    expect(debug_log.events).lengthOf(2003)
    for (const { index, method_name, result, ...others } of debug_log.events) {
      expect(new Set(Object.values(others))).deep.equal(new Set([method_name]))
    }
    const wide = `{ ${repeat(5, 'metrics(points: 400) { ...Points }')} }
      fragment Points on Metrics { ${repeat(15, 'points { ...Numbers }')} }
      fragment Numbers on Point { ${repeat(10, 'numbers { ...Costs }')} }
      fragment Costs on Numbers { ${repeat(19, 'cost')} }`
    let answer: Awaited<ReturnType<typeof askRaw>> | undefined
    const pausedMs = await longestPause(async () => {
      answer = await askRaw(server, { query: wide })
    })
    expect(answer?.errors?.map(({ message }) => message)).deep.equal([
      'A query answers with 500000 fields at most: ask for fewer fields, runs or events in one query.',
    ])
    expect(pausedMs).lessThan(500)
  })

  it('reads the text of an agent once for a query, however often that names it', async () => {
    const server = await makeServer({ debug: true }, SECRETIVE)
    const { host } = server
    const describe = host.describe.bind(host)
    let read = 0
    host.describe = (id) => {
      read++
      return describe(id)
    }
    const names = Array.from({ length: 20 }, (_, n) => `a${n}`)
    const one = names.map((name) => `${name}: agent_config(agent_id: "echo") { definition again: definition }`)
    const { a0, ...others } = await ask(server, `{ ${one.join(' ')} }`)
    const definition = AGENTS['agents/echo.yml']
    expect([read, a0]).deep.equal([1, { definition, again: definition }])
    expect(new Set(Object.values(others).map((each) => JSON.stringify(each)))).deep.equal(new Set([JSON.stringify(a0)]))
    await ask(server, `{ ${names.map((name) => `${name}: list_agents { definition }`).join(' ')} }`)
    expect(read).equal(1 + host.list().length)
  })

  it('parses a page of large events in several turns of the event loop', async () => {
    const line = JSON.stringify(eventOf({ event_type: 'result', call_id: 'c', result: 'x'.repeat(1024 * 1024) }))
    const lines = Array.from({ length: 30 }, (_, index) => ({ line, index }))
    const turns = countTurns()
    const { events, bytes } = await viewLines(lines, {} as never)
    expect([events.length, bytes, turns() > 25]).deep.equal([30, 30 * line.length, true])
  })

  it('answers in turns what may be long', () => {
    const wide = [
      '{ eval_result(path: "x") { cases { input } } }',
      '{ run(run_id: "x") { events { index } } }',
      `{ runs { total } } #${' '.repeat(300)}`,
    ]
    expect(wide.map(mayBeWide)).deep.equal([true, true, true])
    const narrow = ['{ runs { runs { run_id status } total } }', '{ list_agents { id } }']
    expect(narrow.map(mayBeWide)).deep.equal([false, false])
  })

  it('rejects expensive queries before parsing them', async () => {
    const server = await makeServer({ debug: true })
    const fail = async (query: string) => (await askRaw(server, { query })).errors?.[0]?.message
    const aliases = (count: number) => Array.from({ length: count }, (_, n) => `a${n}: server { version }`).join(' ')
    expect(await fail(`{ ${aliases(51)} }`)).equal('The query has more than 50 aliases.')
    expect(await fail(`{ ${aliases(50)} }`)).equal(undefined)
    expect(await fail(`{ ${'version '.repeat(1001)} }`)).equal('The query has more than 1000 tokens.')
    expect(await fail(`${'{ a '.repeat(21)}${'}'.repeat(21)}`)).equal('The query has more than 20 levels.')
    expect(await fail('{ runs(first: 501) { total } }')).equal('first must be from 1 to 500, not 501.')
    expect(await fail('{ runs(after: "nonsense") { total } }')).equal(
      "after must be the cursor of a page, not 'nonsense'.",
    )
    expect(await fail('{ runs(filter: { status: "odd" }) { total } }')).match(/^status must be one of running, /)
    const large = await askRaw(server, { query: `{ server { version } } # ${'x'.repeat(70_000)}` })
    expect([large.status, large.detail]).deep.equal([413, 'The body is too large'])
  })

  it('refuses moments that are too far off to be counted by, and goes on answering', async () => {
    const server = await makeServer({ debug: true })
    const fail = async (times: string) =>
      (await askRaw(server, { query: `{ metrics(${times}) { points { time } } }` })).errors?.[0]?.message
    expect(await fail('utc_offset: 1e20')).equal('utc_offset must be from -86400 to 86400, not 100000000000000000000.')
    expect(await fail('since: 1e17, until: 1.00000000000001e17')).match(/^until must be from -8640000000000 to /)
    expect(await fail('since: -1e999')).match(/^since must be from -8640000000000 to 8640000000000, not -Infinity/)
    expect(await fail('since: -8.64e12, until: 8.64e12, utc_offset: null')).equal(undefined)
  })

  it('accepts a single query by POST, and nothing else', async () => {
    const server = await makeServer({ debug: true })
    const url = '/api/ui/graphql'
    const batch = await askRaw(server, [{ query: '{ server { version } }' }])
    expect(batch.status).equal(400)
    const get = await server.app.inject({ url: `${url}?query={server{version}}` })
    expect([get.statusCode, get.headers.allow]).deep.equal([405, 'POST'])
    const form = await server.app.inject({
      method: 'POST',
      url,
      payload: 'query={server{version}}',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(form.statusCode).equal(415)
    const mutation = await askRaw(server, { query: 'mutation { x }' })
    expect(mutation.errors?.[0]?.message).match(
      /not configured to execute mutation|Cannot query|Schema is not configured/,
    )
  })

  it('passes the audits of GraphQL over HTTP', async () => {
    const server = await makeServer({ debug: true })
    const url = `${await server.listen()}/api/ui/graphql`
    const failed: string[] = []
    const audits = serverAudits({ url })
    for (const audit of audits) {
      const result = await audit.fn()
      if (result.status !== 'ok') failed.push(`${audit.id} ${audit.name}`)
    }
    expect(audits.length).greaterThan(50)
    // GET is left out: nothing of this API is to be had by a link. The audits call it optional.
    expect(failed.filter((name) => !/ MAY .* GETs? /.test(name) && !/ MAY accept /.test(name))).deep.equal([])
  })

  it('serves agents without debug mode, and says that nothing is traced', async () => {
    const server = await makeServer({ adapters: ['UiApiAdapter', 'ChatCompatApiAdapter'] })
    await complete(server, 'echo')
    const query =
      '{ list_agents { id latest_run { run_id } } runs { total } run(run_id: "x") { status } debug_log(agent_id: "echo") { events { time } } server { tracing { is_on } } }'
    const data = await ask<{ list_agents: object[] }>(server, query)
    expect(data.list_agents).lengthOf(4)
    expect({ ...data, list_agents: 0 }).deep.equal({
      list_agents: 0,
      runs: { total: 0 },
      run: null,
      debug_log: { events: [] },
      server: { tracing: { is_on: false } },
    })
    expect(server.project.exists('debug')).equal(false)
  })

  it('is added by debug mode only, once', async () => {
    const names = async (options: object) => {
      const server = await makeServer(options)
      const { statusCode } = await server.app.inject({
        method: 'POST',
        url: '/api/ui/graphql',
        payload: { query: '{ server { version } }' },
      })
      return statusCode
    }
    expect(await names({ debug: true, adapters: [] })).equal(200)
    expect(await names({ debug: true, adapters: ['xaibo.server.UiApiAdapter'] })).equal(200)
    expect(await names({ debug: false })).equal(404)
  })

  it('streams changes of runs and agents', async () => {
    const server = await makeServer({ debug: true }, TOOLS)
    const url = await server.listen()
    const leave = new AbortController()
    const response = await fetch(`${url}/api/ui/live`, { signal: leave.signal })
    expect(response.headers.get('content-type')).equal('text/event-stream; charset=utf-8')
    let heard = ''
    const reading = (async () => {
      for await (const chunk of response.body ?? []) heard += Buffer.from(chunk).toString()
    })().catch(() => {})
    await eventually(() => expect(heard).contain('event: ready'))
    await complete(server, 'echo', 'live words')
    await eventually(() =>
      expect(heard).match(/event: runs\ndata: {"runs":\[{"run_id":".*"status":"completed".*"input":"live words"/),
    )
    await complete(server, 'tools')
    // Each model has its cost, as in every other answer; this one has no price.
    await eventually(() =>
      expect(heard).match(/"models":\[{[^}]*"input_tokens":5[^}]*"cost":null,"context_window":null}\]/),
    )
    await server.project.write('agents/new.yml', 'id: new\nmodules: [{ id: main, module: echo }]')
    await eventually(() => expect(heard).contain('event: agents\n'))
    const closing = Date.now()
    await server.close()
    expect(Date.now() - closing).lessThan(900)
    await reading
    leave.abort()
  })
})

const ECHO = `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Echo', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(text) { await response.respondText(text) } }) })`
