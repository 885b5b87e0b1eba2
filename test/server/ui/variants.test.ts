import { readdir } from 'node:fs/promises'
import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'
import type { Json } from '../../support/responses.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'
import { keysFile } from '../../support/tenant-visitor.ts'
import { HOSTILE_CHANGES, PROMPTED, tillsOpened, VARIED_PROJECT } from '../../support/varied.ts'

const OWN = { origin: 'http://localhost:80' }
const DEV = {
  adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter'],
  debug: true,
  development: true,
} as const

async function serve(options: Partial<ServerOptions> = DEV, files: Readonly<Record<string, string>> = {}) {
  const server = await makeServer(options, { ...VARIED_PROJECT, ...files })
  const post = async (url: string, payload: unknown, headers: Readonly<Record<string, string>> = {}) => {
    const reply = await server.app.inject({ method: 'POST', url, payload: payload as object, headers })
    return { status: reply.statusCode, json: reply.json() as Json, body: reply.body }
  }
  const vary = (body: object, headers: Readonly<Record<string, string>> = OWN) =>
    post('/api/ui/variants', { agent_id: 'talker', ...body }, headers)
  const say = async (variant: string | undefined, text = 'hi', headers: Readonly<Record<string, string>> = {}) => {
    const named: Record<string, string> = variant === undefined ? {} : { 'x-agent-variant': variant }
    const { status, json } = await post('/compat/chat/completions', chat('talker', text), { ...named, ...headers })
    return status === 200 ? json.choices[0].message.content : `${status} ${json.detail}`
  }
  return { ...server, post, vary, say }
}

const PLAIN = 'Be kind.|small|-|http://127.0.0.1:1|kind|hi'
const SHORT = 'Be short.|small|-|http://127.0.0.1:1|kind|hi'

describe('variants of the debug UI', () => {
  afterEach(closeServers)

  it('are made by the page, and named by requests of every protocol; the agent stays as it is', async () => {
    const { vary, say, post } = await serve()
    const { status, json } = await vary({ changes: PROMPTED })
    expect([status, json.agent_id, json.changes]).to.deep.equal([201, 'talker', PROMPTED])
    expect(json.definition).to.equal(
      VARIED_PROJECT['agents/talker.yml'].replace('Be kind.', 'Be short.').replace('its-own-key', '[redacted]'),
    )
    const headers = { 'x-agent-variant': json.id }
    expect(await say(json.id)).to.equal(SHORT)
    const answered = await post('/v1/responses', { model: 'talker', input: 'hi' }, headers)
    expect(answered.json.output[0].content[0].text).to.equal(SHORT)
    const params = { name: 'talker', arguments: { message: 'hi' } }
    const called = await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers)
    expect(called.json.result.content[0].text).to.equal(SHORT)
    expect(await say(undefined)).to.equal(PLAIN)
  })

  it('mark their runs: in the list, and with the values in the trace', async () => {
    const { vary, say, app } = await serve()
    const { json } = await vary({ changes: PROMPTED })
    await say(json.id)
    await say(undefined)
    const query = '{ runs(first: 5) { runs { variant agent_version events { events { event_type variant } } } } }'
    await eventually(async () => {
      const { runs } = (await ask<Json>({ app }, query)).runs
      expect(runs.map(({ variant }: Json) => variant).sort()).to.deep.equal([null, 'system_prompt: kind. → short.'])
      const [varied] = runs.filter(({ variant }: Json) => variant !== null)
      expect(varied.agent_version).to.equal(json.version)
      expect(varied.events.events[0]).to.deep.equal({ event_type: 'call', variant: PROMPTED })
      const foreign = await ask<Json>(
        { app },
        '{ runs(first: 5) { runs { variant } } }',
        {},
        { origin: 'http://b.test' },
      )
      expect(foreign.runs.runs).to.deep.equal([{ variant: null }, { variant: null }])
    })
  })

  it('tell the page which values they may change', async () => {
    const { app } = await serve()
    const query =
      '{ agent_config(agent_id: "talker") { modules { id variables { path value schema } } } server { takes_variants takes_definitions } }'
    const { agent_config, server } = await ask<Json>({ app }, query, {}, OWN)
    const variables = agent_config.modules.flatMap(({ id, variables }: Json) =>
      variables.map(({ path, value }: Json) => [id, path.join('.'), value]),
    )
    expect(variables).to.deep.equal([
      ['llm', 'model', '${MODEL:-small}'],
      ['llm', 'temperature', null],
      ['llm', 'tone', 'kind'],
      ['llm', 'words', {}],
      ['main', 'system_prompt', 'Be kind.'],
      ['main', 'max_steps', 4],
      ['main', 'max_repeats', 3],
    ])
    expect(agent_config.modules[0].variables[1].schema).to.deep.equal({ type: 'number', minimum: 0, maximum: 2 })
    expect(server).to.deep.equal({ takes_variants: true, takes_definitions: true })
  })

  it('that do not fit are refused with what check says, at the value', async () => {
    const { vary } = await serve()
    const path = ['temperature']
    const { status, json } = await vary({ changes: [{ module: 'llm', path, value: 3 }] })
    const message = "module 'llm' (told), config: temperature must be a number from 0 to 2."
    expect([status, json]).to.deep.equal([
      400,
      { detail: message, problems: [{ module: 'llm', path, message, suggestions: [] }] },
    ])
    const other = await vary({ agent_id: 'nobody', changes: PROMPTED })
    expect([other.status, other.json.detail]).to.deep.equal([404, "There is no agent 'nobody'"])
  })

  it('of an agent that changed meanwhile are refused, and go on with its new text', async () => {
    const { vary, say, project, host, agents } = await serve()
    const { version } = host.get('talker') ?? {}
    const made = await vary({ changes: PROMPTED, version })
    const text = VARIED_PROJECT['agents/talker.yml'].replace('MODEL:-small', 'MODEL:-large')
    await project.write('agents/talker.yml', text)
    await agents.scan()
    const refused = await vary({ changes: PROMPTED, version })
    expect([refused.status, refused.json.detail]).to.deep.equal([
      409,
      "Agent 'talker' changed meanwhile: take its new text",
    ])
    expect(await say(made.json.id)).to.equal(SHORT.replace('small', 'large'))
    await project.write(
      'agents/talker.yml',
      text.replace('orchestrator/tool-loop', 'echo').replace(/ +config:\n +# What[\s\S]*/, ''),
    )
    await agents.scan()
    expect(await say(made.json.id)).to.match(
      /^400 x-agent-variant: variant '.+' does not fit agent 'talker' any more: .*system_prompt/,
    )
  })

  it('are forgotten beyond 16 MiB in all, the least recently used first', async () => {
    const { vary, say } = await serve()
    const large = (count: number) => vary({ changes: [{ ...PROMPTED[0], value: `${'x'.repeat(900_000)}${count}` }] })
    const ids: string[] = []
    for (let count = 0; count < 20; count++) ids.push((await large(count)).json.id)
    expect(await say(ids[0])).to.match(/^400 x-agent-variant: there is no variant /)
    expect(await say(ids.at(-1))).to.match(/^x{900000}19\|/)
  })

  it('are unknown to requests of other agents, of pages elsewhere, and when they were never made', async () => {
    const { vary, say, post } = await serve()
    const { json } = await vary({ changes: PROMPTED })
    const unknown = (id: string) =>
      `400 x-agent-variant: there is no variant '${id}'. One is forgotten after an hour without use`
    expect(await say('none')).to.equal(unknown('none'))
    expect(await say('__proto__')).to.equal(unknown('__proto__'))
    expect(await say(json.id, 'hi', { origin: 'http://b.test' })).to.equal(unknown(json.id))
    const headers = { 'x-agent-variant': json.id }
    const other = await post('/v1/chat/completions', chat('echo', 'hi'), headers)
    expect([other.status, other.json.error.param]).to.deep.equal([400, 'x-agent-variant'])
    expect(other.json.detail).to.equal(`x-agent-variant: variant '${json.id}' is one of agent 'talker'`)
  })

  it('can be written as a whole text; what they may not change is refused at its line', async () => {
    const { vary, say, app } = await serve()
    const { definition } = (await ask<Json>({ app }, '{ agent_config(agent_id: "talker") { definition } }'))
      .agent_config
    const changed = definition.replace('Be kind.', 'Be short. # not a comment').replace('max_steps: 4', 'max_steps: 2')
    const { status, json } = await vary({ definition: changed })
    expect([status, json.definition]).to.deep.equal([201, changed])
    expect(json.changes).to.deep.equal([{ module: 'main', path: ['max_steps'], value: 2 }, PROMPTED[0]].reverse())
    expect(await say(json.id)).to.equal(SHORT)
    const refusals: [string, string, number, string][] = [
      ['id: talker', 'id: other', 2, 'id may not be changed by a variant.'],
      ['module: told', 'module: ./told.ts', 5, 'module may not be changed by a variant.'],
      [
        "command: 'touch started'",
        "command: 'touch stolen'",
        11,
        "module 'tools' (till), config: command may not be changed by a variant.",
      ],
      [
        'http://127.0.0.1:1',
        'http://b.test',
        9,
        "module 'llm' (told), config: base_url may not be changed by a variant.",
      ],
      [
        'api_key: [redacted]',
        'api_key: mine',
        8,
        "module 'llm' (told), config: api_key may not be changed by a variant.",
      ],
      [
        'Be kind.',
        'Be ${TALKER_KEY}',
        16,
        "module 'main' (orchestrator/tool-loop), config: system_prompt has '${TALKER_KEY}', which this value does not have in the file.",
      ],
      [
        'max_steps: 4',
        'max_steps: no',
        17,
        "module 'main' (orchestrator/tool-loop), config: max_steps must be a whole number of at least 1.",
      ],
      [
        'max_steps: 4',
        'max_step: 4',
        17,
        "module 'main' (orchestrator/tool-loop), config: max_step may not be changed by a variant.",
      ],
      ['max_steps: 4', 'max_steps: [', 18, ''],
    ]
    for (const [now, then, line, message] of refusals) {
      const refused = await vary({ definition: definition.replace(now, then) })
      expect(refused.status, then).to.equal(400)
      const found = refused.json.problems.map((problem: Json) => [problem.line, problem.message])
      if (message === '') expect(found[0][0]).to.equal(line)
      else expect(found, then).to.deep.include([line, message])
    }
  })

  it('are written by the page of a developer alone, and as a text on this machine alone', async () => {
    const definition = VARIED_PROJECT['agents/talker.yml']
    const { vary, close } = await serve()
    for (const headers of [{}, { origin: 'http://b.test' }, { origin: 'null' }]) {
      expect((await vary({ changes: PROMPTED }, headers as Record<string, string>)).status).to.equal(404)
      // Not even the shape of a request is told.
      expect((await vary({ changes: 'all' }, headers as Record<string, string>)).status).to.equal(404)
    }
    await close()
    const open = await serve({ ...DEV, host: '0.0.0.0' })
    const refused = await open.vary({ definition })
    expect([refused.status, refused.json.detail]).to.deep.equal([
      400,
      'definition: only agent-host dev on this machine takes a whole text; send changes',
    ])
    expect((await open.vary({ changes: PROMPTED })).status).to.equal(201)
  })

  it('exist under serve only with --allow-variants, for keys with the scope debug', async () => {
    const keys = keysFile([
      { name: 'dev', tenant: 'acme', scopes: ['run', 'debug'] },
      { name: 'other', tenant: 'globex', scopes: ['run', 'debug'] },
      { name: 'user', tenant: 'acme', scopes: ['run'] },
    ])
    const served = { ...DEV, development: false, keys: 'keys.yml' }
    const by = (name: string) => ({ authorization: `Bearer key-of-${name}` })
    const closed = await serve(served, { 'keys.yml': keys })
    expect((await closed.vary({ changes: PROMPTED }, by('dev'))).status).to.equal(404)
    expect(await closed.say('any', 'hi', by('dev'))).to.equal(
      '400 x-agent-variant: this server takes no variants; --allow-variants allows them',
    )
    const server = await serve({ ...served, allowVariants: true }, { 'keys.yml': keys })
    const { status, json } = await server.vary({ changes: PROMPTED }, by('dev'))
    expect(status).to.equal(201)
    expect((await server.vary({ changes: PROMPTED }, by('user'))).status).to.equal(403)
    expect((await server.vary({ changes: PROMPTED }, { ...by('dev'), origin: 'http://b.test' })).status).to.equal(404)
    expect((await server.vary({ definition: json.definition }, by('dev'))).status).to.equal(400)
    expect(await server.say(json.id, 'hi', by('user'))).to.equal(SHORT)
    expect(await server.say(json.id, 'hi', by('other'))).to.match(/^400 x-agent-variant: there is no variant/)
  })

  it('change nothing and start nothing where they are hostile', async () => {
    const { vary, say, post, host, project } = await serve()
    const tills = tillsOpened().length
    const files = await readdir(project.dir)
    const version = host.get('talker')?.version
    for (const [index, changes] of HOSTILE_CHANGES.entries()) {
      const { status, json } = await vary({ changes })
      expect(status, `${index}: ${JSON.stringify(changes)}`).to.equal(400)
      expect(json, `${index}`).to.not.have.property('id')
    }
    for (const [body, headers] of MALFORMED) {
      const { status } = await post('/api/ui/variants', body, {
        ...OWN,
        'content-type': 'application/json',
        ...headers,
      })
      expect(status, String(body).slice(0, 60)).to.be.within(400, 415)
    }
    expect(await say(undefined)).to.equal(PLAIN)
    expect(host.get('talker')?.version).to.equal(version)
    expect(tillsOpened().length).to.equal(tills)
    expect(await readdir(project.dir)).to.deep.equal(files)
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined)
  })
})

const MALFORMED: [unknown, Record<string, string>][] = [
  ['{"agent_id": "talker", "changes": [], "__proto__": {"polluted": true}}', {}],
  ['{"agent_id": "talker", "modules": [{"id": "evil", "module": "./evil.ts"}]}', {}],
  ['{"agent_id": "talker", "changes": {}}', {}],
  ['{"agent_id": "talker", "changes": [], "definition": "id: talker"}', {}],
  ['{"agent_id": "__proto__", "changes": []}', {}],
  ['agent_id: talker', {}],
  ['agent_id=talker', { 'content-type': 'application/x-www-form-urlencoded' }],
  [JSON.stringify({ agent_id: 'talker', definition: '!!js/function "x"' }), {}],
  [JSON.stringify({ agent_id: 'talker', definition: 'a: &a [*a]' }), {}],
  [JSON.stringify({ agent_id: 'talker', definition: 'x'.repeat(2_000_000) }), {}],
]
