import type { ServerResponse } from 'node:http'
import { type ModuleContext, memoryStorage, type ToolProvider } from 'agent-host'
import { expect } from 'chai'
import { Value } from 'typebox/value'
import mcp from '../../../modules/tools/mcp.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { eventually } from '../../support/eventually.ts'
import { makeContext, makeRun } from '../../support/fake-run.ts'
import { type RudeMcpServer, startRudeMcpServer } from '../../support/rude-mcp-server.ts'

const PLAIN = { type: 'object', properties: { x: { type: 'string' } } }
const EMPTY = { type: 'object', properties: {} }
const NO_MESSAGE = 'it does not speak MCP: its answer is no message of it'
/** Takes more of the stack than there is where a validator walks it. */
const DEEP: unknown = JSON.parse('['.repeat(3000) + ']'.repeat(3000))
const DEEP_TEXT = '['.repeat(100_000) + ']'.repeat(100_000)
const GOOD = { name: 'good', inputSchema: PLAIN }

const nest = (levels: number, inner: object): object =>
  levels === 0 ? inner : { type: 'object', properties: { x: nest(levels - 1, inner) } }

describe('tools/mcp with servers as strangers write them', () => {
  const open: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })

  async function start(
    tools: unknown,
    options: {
      isModern?: boolean
      config?: object
      approval?: string
      connectTimeout?: number
      instead?: RudeMcpServer['instead']
      stream?: RudeMcpServer['stream']
    } = {},
  ) {
    const { rude, url, close } = await startRudeMcpServer(tools, options)
    open.push(close)
    if (options.instead) rude.instead = options.instead
    if (options.stream) rude.stream = options.stream
    const context: ModuleContext & { lines?: unknown } = makeContext()
    const config = Value.Default(mcp.config, {
      servers: [{ name: 'rude', url, ...options.config }],
      connect_timeout: options.connectTimeout ?? 5,
      ...(options.approval ? { approval: options.approval } : {}),
    }) as Parameters<typeof mcp.create>[1]
    const storage = memoryStorage().storageOf({ agentId: 'test', moduleId: 'tools' })
    const provider = (await mcp.create({ storage }, config, context)) as ToolProvider & AsyncDisposable
    open.push(() => provider[Symbol.asyncDispose]())
    const list = async () => provider.listTools(makeRun())
    const call = (name: string) => provider.executeTool(name, { x: '1' }, makeRun())
    const warnings = () => (context.lines as string[]).filter((line) => line.startsWith('warn'))
    return { rude, provider, list, call, warnings, storage }
  }

  for (const isModern of [false, true]) {
    describe(isModern ? 'in version 2026-07-28' : 'with a handshake', () => {
      const mended: Record<string, [tool: object, parameters: object]> = {
        'a description that is null': [{ description: null, inputSchema: PLAIN }, PLAIN],
        'annotations of a wrong type': [{ inputSchema: PLAIN, annotations: { readOnlyHint: 'yes' } }, PLAIN],
        'annotations that are null': [{ inputSchema: PLAIN, annotations: null, title: 4, _meta: null }, PLAIN],
        'an output schema that does not compile': [{ inputSchema: PLAIN, outputSchema: { type: 'nonsense' } }, PLAIN],
        'no schema': [{}, EMPTY],
        'a schema that is null': [{ inputSchema: null }, EMPTY],
        'no properties': [{ inputSchema: { type: 'object' } }, EMPTY],
        'properties that are null': [{ inputSchema: { type: 'object', properties: null } }, EMPTY],
        'properties as PHP writes them': [
          { inputSchema: { type: 'object', properties: [], required: [] } },
          { ...EMPTY, required: [] },
        ],
        'required that is null': [{ inputSchema: { ...PLAIN, required: null } }, PLAIN],
        'a property that is null': [
          { inputSchema: { type: 'object', properties: { x: null, y: { type: 'string', enum: null, items: null } } } },
          { type: 'object', properties: { x: {}, y: { type: 'string' } } },
        ],
        'a list of anything': [
          { inputSchema: { type: 'object', properties: { x: {}, l: { type: ['array', 'null'] } } } },
          { type: 'object', properties: { x: {}, l: { type: ['array', 'null'], items: {} } } },
        ],
        'a pattern of another language': [
          { inputSchema: { type: 'object', properties: { x: { type: 'string', pattern: '(?P<year>\\d+)' } } } },
          PLAIN,
        ],
        'a schema without a type': [{ inputSchema: { anyOf: [PLAIN] } }, { ...EMPTY, anyOf: [PLAIN] }],
        'a schema that may be null': [{ inputSchema: { ...PLAIN, type: ['object', 'null'] } }, PLAIN],
        'a schema that is a reference': [
          { inputSchema: { $ref: '#/definitions/Args', definitions: { Args: PLAIN } } },
          { ...PLAIN, definitions: { Args: PLAIN } },
        ],
        'the deepest schema, and a value of 100 levels in it': [
          { inputSchema: nest(100, { default: JSON.parse('['.repeat(98) + ']'.repeat(98)) }) },
          nest(100, { default: JSON.parse('['.repeat(98) + ']'.repeat(98)) }),
        ],
        'alternatives at the top': [
          { inputSchema: { ...PLAIN, anyOf: [{ required: ['x'] }] } },
          { ...PLAIN, anyOf: [{ required: ['x'] }] },
        ],
      }
      for (const [what, [tool, parameters]] of Object.entries(mended)) {
        it(`offers a tool with ${what}`, async () => {
          const { list, call, warnings } = await start([GOOD, { name: 'other', ...tool }], { isModern })
          const tools = await list()
          expect(tools.map(({ name }) => name)).to.deep.equal(['good', 'other'])
          expect(tools[1]?.parameters).to.deep.equal(parameters)
          expect((await call('other')).text).to.equal('called other')
          expect(warnings()).to.deep.equal([])
        })
      }

      const refused: Record<string, [schema: unknown, reason: string]> = {
        'for text': [{ type: 'string' }, "it is of type 'string', and arguments are an object"],
        'that is text': ['object', 'it is no object'],
        'with an unknown type': [
          { type: 'object', properties: { x: { type: 'str' } } },
          'JSON Schema has no type "str"',
        ],
        'with text in the place of a property': [
          { type: 'object', properties: { x: 'string' } },
          'it has "string" in the place of a schema',
        ],
        'with a reference to nothing': [
          { type: 'object', properties: { x: { $ref: '#/$defs/gone' } } },
          "its $ref '#/$defs/gone' leads nowhere",
        ],
        'that is too deep': [
          JSON.parse(`${'{"type":"object","properties":{"x":'.repeat(200)}{}${'}}'.repeat(200)}`),
          'it is more than 100 levels deep',
        ],
        ...Object.fromEntries(
          ['default', 'enum', 'examples', 'x-foo'].map((word) => [
            `whose ${word} is 3,000 deep`,
            [{ ...PLAIN, properties: { x: { [word]: DEEP } } }, 'it is more than 100 levels deep'],
          ]),
        ),
      }
      for (const [what, [inputSchema, reason]] of Object.entries(refused)) {
        it(`leaves out a tool with a schema ${what}, and names it once`, async () => {
          const { list, call, warnings, rude } = await start([GOOD, { name: 'other', inputSchema }], { isModern })
          expect((await list()).map(({ name }) => name)).to.deep.equal(['good'])
          expect((await call('good')).text).to.equal('called good')
          rude.result = () => ({ error: { code: -32602, message: 'Unknown tool: good' } })
          await call('good').catch(() => {})
          expect(rude.lists).to.equal(2)
          expect(warnings()).to.deep.equal([
            `warn The MCP server 'rude' describes the tool 'other' by a schema that no model takes: ${reason}. The tool is left out.`,
          ])
        })
      }

      it('leaves out what has no name', async () => {
        const { list, warnings } = await start([GOOD, null, {}, { name: '' }, { name: 4 }, 'good'], { isModern })
        expect((await list()).map(({ name }) => name)).to.deep.equal(['good'])
        expect(warnings()).to.deep.equal(["warn The MCP server 'rude' lists a tool without a name, which is left out."])
      })

      it('leaves out a name that is too long', async () => {
        const { list, warnings } = await start([GOOD, { name: 'x'.repeat(1001) }], { isModern })
        expect((await list()).map(({ name }) => name)).to.deep.equal(['good'])
        expect(warnings()).to.deep.equal([
          "warn The MCP server 'rude' lists a tool whose name has more than 1000 characters, which is left out.",
        ])
      })

      it('takes new names until it knows 10,000, and says once that it leaves out others', async () => {
        const named = (from: number) => Array.from({ length: 6000 }, (_, n) => ({ name: `t${from + n}` }))
        const { rude, list, call, warnings } = await start(named(0), { isModern })
        rude.result = () => ({ error: { code: -32602, message: 'Unknown tool' } })
        const listAgain = async () => {
          const [tool] = await list()
          await call(tool?.name ?? '').catch(() => {})
          return (await list()).length
        }
        expect((await list()).length).to.equal(6000)
        rude.tools = named(6000)
        expect(await listAgain()).to.equal(4000)
        rude.tools = named(12_000)
        expect(await listAgain()).to.equal(0)
        expect(warnings()).to.deep.equal(["warn The MCP server 'rude' has listed 10000 tools: others are left out."])
      })

      it('reads the first 10,000 tools of a list', async () => {
        const nameless = Array.from({ length: 10_000 }, () => ({}))
        const { list, warnings } = await start([...nameless, GOOD], { isModern })
        expect(await list()).to.deep.equal([])
        expect(warnings()).to.include("warn The MCP server 'rude' has listed 10000 tools: others are left out.")
      })

      it('leaves out tools whose schemas are too large together', async () => {
        const properties = Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`p${n}`, {}]))
        const large = (name: string) => ({ name, inputSchema: { type: 'object', properties } })
        const { list, warnings } = await start([large('first'), large('second'), GOOD], { isModern })
        expect((await list()).map(({ name }) => name)).to.deep.equal(['first', 'good'])
        expect(warnings()).to.deep.equal([
          "warn The MCP server 'rude' has more than 50000 objects in the schemas of its tools: some tools are left out.",
        ])
      })

      it('reads a list whose other fields are wrong', async () => {
        const started = await start([GOOD], { isModern })
        started.rude.listFields = { nextCursor: null }
        started.rude.tools = [{ ...GOOD, name: 'next' }]
        started.rude.result = () => ({ error: { code: -32602, message: 'Unknown tool: good' } })
        await started.call('good').catch(() => {})
        expect((await started.list()).map(({ name }) => name)).to.deep.equal(['next'])
      })

      const contents: Record<string, [result: object, text: string]> = {
        'text, and a structure that says more': [
          { content: [{ type: 'text', text: '1 issue' }], structuredContent: { issues: [{ id: 4711 }] } },
          '1 issue\n{"issues":[{"id":4711}]}',
        ],
        'a structure alone': [{ structuredContent: { id: 4711 } }, '{"id":4711}'],
        'a structure, and the same as text': [
          { content: [{ type: 'text', text: '{ "b": 2, "a": 1 }' }], structuredContent: { a: 1, b: 2 } },
          '{ "b": 2, "a": 1 }',
        ],
        'a list whose items are texts': [
          { content: ['a', 'b'].map((text) => ({ type: 'text', text })), structuredContent: { result: ['a', 'b'] } },
          'a\nb',
        ],
        'a text that is nested too deep to be compared': [
          { content: [{ type: 'text', text: DEEP_TEXT }], structuredContent: { a: 1 } },
          `${DEEP_TEXT}\n{"a":1}`,
        ],
        'a number as text': [{ content: [{ type: 'text', text: '5' }], structuredContent: { result: 5 } }, '5'],
        'content of an unknown type': [
          {
            content: [
              { type: 'brand_new', x: 1 },
              { type: 'text', text: 'kept' },
            ],
          },
          "[content of the unknown type 'brand_new']\nkept",
        ],
        'an image without data': [
          {
            content: [
              { type: 'image', data: null, mimeType: 'image/png' },
              { type: 'text', text: 'kept' },
            ],
          },
          "[content of the type 'image' that cannot be read]\nkept",
        ],
        'wrong fields beside those that count': [
          { content: [{ type: 'text', text: 'kept', annotations: 'loud', _meta: null }], isError: null },
          'kept',
        ],
        'content that is text': [{ content: 'kept' }, 'kept'],
        'no content': [{ content: null, structuredContent: null }, ''],
      }
      for (const [what, [result, text]] of Object.entries(contents)) {
        it(`gives the model ${what}`, async () => {
          const { rude, call } = await start([GOOD], { isModern })
          rude.result = () => ({ result })
          expect((await call('good')).text).to.equal(text)
        })
      }
    })
  }

  it('looks for a large structure among many small texts in a moment', async () => {
    const { rude, call } = await start([GOOD])
    const structure = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key ${n}`, n]))
    const content = Array.from({ length: 500 }, () => ({ type: 'text', text: '{}' }))
    rude.result = () => ({ result: { content, structuredContent: structure } })
    await call('good')
    const spentMs = measureCpuTime()
    expect((await call('good')).text.endsWith(`{}\n${JSON.stringify(structure)}`)).to.equal(true)
    expect(spentMs()).to.be.below(800)
  })

  it('reads the first 20,000 parts of a result, and says how many more there are', async () => {
    const { rude, call } = await start([GOOD])
    rude.result = () => ({ result: { content: new Array(30_000).fill(0) } })
    const lines = (await call('good')).text.split('\n')
    expect(lines.length).to.equal(20_001)
    expect(lines.at(-1)).to.equal('[10000 more parts, which are left out]')
  })

  it('gives the model a structure that is a list', async () => {
    const { rude, call } = await start([GOOD])
    rude.result = () => ({ result: { content: [], structuredContent: [1, 2] } })
    expect((await call('good')).text).to.equal('{"result":[1,2]}')
  })

  it('takes a tool whose hints have a wrong type for destructive', async () => {
    const annotations = { readOnlyHint: 'yes', destructiveHint: 'no' }
    const tools = [
      { ...GOOD, annotations },
      { ...GOOD, name: 'reads', annotations: { readOnlyHint: true } },
    ]
    const { provider } = await start(tools, { approval: 'destructive' })
    const needs = (name: string) => provider.needsApproval?.(name, {}, makeRun())
    expect([await needs('good'), await needs('reads')]).to.deep.equal([true, false])
  })

  for (const transport of ['http', 'sse']) {
    it(`opens a stream that its server ends at once, and wants back at once, twice a second at most (${transport})`, async () => {
      const startedMs = performance.now()
      const openedMs: number[] = []
      const stream = (answer: ServerResponse) => {
        openedMs.push(performance.now())
        answer.writeHead(200, { 'content-type': 'text/event-stream' })
        answer.end('retry: 0\nevent: endpoint\ndata: /mcp\n\n')
      }
      const instead: RudeMcpServer['instead'] = ({ method }, answer) =>
        method === 'GET' ? stream(answer) : answer.writeHead(202).end()
      const own = transport === 'sse' ? { instead } : { stream }
      await start([GOOD], { config: { transport }, connectTimeout: 0.05, ...own })
      await eventually(() => expect(openedMs.length).to.be.at.least(4))
      expect(Number(openedMs[3]) - startedMs).to.be.at.least(1490)
    })
  }

  describe('whose server wants a sign-in', () => {
    const SIGNED_IN = 'sealed {"tokens":{"access_token":"t","token_type":"bearer"}}'

    async function startSignedIn(config: object = {}, tenant = '') {
      const started = await start([GOOD], { config: { oauth: {} }, approval: 'destructive', ...config })
      await started.storage.set('sign-in/rude', SIGNED_IN, makeRun({ tenant }))
      return started
    }

    it('executes no destructive tool whose server was away when the approval was looked up', async () => {
      const { rude, provider, list, call } = await startSignedIn()
      expect(await list()).to.deep.include({ name: 'good', description: '', parameters: PLAIN, approval: 'always' })
      rude.instead = (request) => request.socket.destroy()
      await call('good').catch(() => {})
      rude.instead = (_request, answer) => {
        rude.instead = undefined
        answer.writeHead(502).end()
      }
      const need = async () => provider.needsApproval?.('good', {}, makeRun())
      const found = await need().catch((error: Error) => error.message)
      // Where the server is back before this, it needs an approval.
      expect(found).to.be.oneOf(["There is no tool 'good'. Tools: sign_in_rude.", true])
      await eventually(async () => expect(await need()).to.equal(true))
      expect((await call('good')).text).to.equal('called good')
    })

    it('waits for a server that does not answer once in a listing', async () => {
      const { rude, list, storage, warnings } = await startSignedIn({ connectTimeout: 0.05 })
      const known = ['a', 'b'].map((name) => ({ name, inputSchema: PLAIN }))
      await storage.set('tools/rude', known, makeRun())
      rude.instead = () => {}
      expect((await list()).map(({ name, approval }) => [name, approval])).to.deep.equal([
        ['a', 'always'],
        ['b', 'always'],
      ])
      expect(warnings()).to.deep.equal(["warn The MCP server 'rude' has not answered for 0.05 s; it may still."])
    })

    it('cuts off no call when many other tenants come', async () => {
      const { rude, provider } = await startSignedIn({}, 'first')
      const first = makeRun({ tenant: 'first' })
      await provider.listTools(first)
      const held = new Promise<() => void>((resolve) => {
        rude.hold = new Promise((go) => {
          rude.onCall = () => resolve(go)
        })
      })
      const calling = provider.executeTool('good', {}, first)
      calling.catch(() => {})
      const go = await held
      for (let n = 0; n < 101; n++) await provider.listTools(makeRun({ tenant: `t${n}` }))
      go()
      expect((await calling).text).to.equal('called good')
    })
  })

  describe('gives tools names that models accept, and distinct ones, told once', () => {
    const called = async (names: readonly string[], config = {}) => {
      const started = await start(
        names.map((name) => ({ name, description: name, inputSchema: PLAIN })),
        { config },
      )
      const tools = await started.list()
      await started.list()
      for (const { name, description } of tools) {
        expect(name).to.match(/^[A-Za-z0-9_-]{1,64}$/)
        expect((await started.call(name)).text).to.equal(`called ${description}`)
      }
      return { names: tools.map(({ name }) => name), warnings: started.warnings() }
    }

    it('where they differ in a character', async () => {
      const { names, warnings } = await called(['calendar.list', 'calendar_list', 'calendar/list'])
      expect(names).to.have.length(3)
      expect(names[1]).to.equal('calendar_list')
      expect(names[0]).to.match(/^calendar_list_[0-9a-f]{8}$/)
      expect(names[2]).to.match(/^calendar_list_[0-9a-f]{8}$/)
      expect(warnings).to.deep.equal([
        `warn The tool 'calendar.list' of 'rude' is offered as '${names[0]}'.`,
        `warn The tool 'calendar/list' of 'rude' is offered as '${names[2]}'.`,
      ])
    })

    it('in whichever order they are listed', async () => {
      const { names } = await called(['a.b', 'a/b'])
      const { names: turned } = await called(['a/b', 'a.b'])
      expect(turned.reverse()).to.deep.equal(names)
    })

    it('where they have no letter of ASCII', async () => {
      const { names } = await called(['日程表', '通讯录'])
      expect(names[0]).to.match(/^tool_[0-9a-f]{8}$/)
      expect(new Set(names).size).to.equal(2)
      const prefixed = await called(['日程表', '通讯录'], { prefix: 'office_' })
      expect(prefixed.names[0]).to.match(/^office_.*[0-9a-f]{8}$/)
    })

    it('where they are long', async () => {
      const { names } = await called([`${'x'.repeat(100)}1`, `${'x'.repeat(100)}2`])
      expect(new Set(names).size).to.equal(2)
    })

    it('where a tool is listed twice', async () => {
      const { names, warnings } = await called(['good', 'good'])
      expect(names).to.deep.equal(['good'])
      expect(warnings).to.deep.equal(["warn 'rude' lists the tool 'good' twice; the first one is used."])
    })
  })

  const unknown: Record<string, { result?: object; error?: object }> = {
    'by an error': { error: { code: -32602, message: 'Unknown tool: first' } },
    'as the TypeScript SDK': { error: { code: -32602, message: 'MCP error -32602: Tool first not found' } },
    'as the Python SDK': { result: { content: [{ type: 'text', text: 'Unknown tool: first' }], isError: true } },
  }
  for (const [how, answer] of Object.entries(unknown)) {
    it(`lists the tools again when a server says ${how} that it has none of that name`, async () => {
      const { rude, list, call } = await start([{ ...GOOD, name: 'first' }])
      rude.tools = [{ ...GOOD, name: 'second' }]
      rude.result = (name) => (name === 'first' ? answer : { result: { content: [{ type: 'text', text: 'fine' }] } })
      const said = await call('first').then(
        ({ text }) => text,
        (error: Error) => error.message,
      )
      expect(said).to.match(/unknown tool|not found/i)
      expect((await list()).map(({ name }) => name)).to.deep.equal(['second'])
      expect((await call('second')).text).to.equal('fine')
      expect(rude.lists).to.equal(2)
    })
  }

  const page = `<!doctype html><html><title>Welcome</title>${'<p>Our garden tools.</p>'.repeat(200)}</html>`
  const elsewhere: Record<string, [status: number, type: string, body: string, reason: string]> = {
    'a page': [200, 'text/html', page, 'it does not speak MCP: it answers with text/html'],
    'a page in the place of JSON': [200, 'application/json', page, 'it does not speak MCP: it answers with a web page'],
    'an API of its own': [200, 'application/json', '{"status":"error","message":"unknown action"}', NO_MESSAGE],
    'a list': [200, 'application/json', '[1,2]', NO_MESSAGE],
    'a page that nothing is there': [
      404,
      'text/html',
      page,
      'it does not speak MCP: it answers with a web page (status 404)',
    ],
    'nothing there': [404, 'text/plain', 'not found', 'not found (status 404)'],
    'its stack': [
      500,
      'text/plain',
      `Error: no\n${'    at main.js:1\n'.repeat(300)}`,
      'the server answered the probe with HTTP 500',
    ],
    'that a key is wrong': [
      401,
      'application/json',
      '{"error":"invalid_token"}',
      'the server requires authorization (HTTP 401)',
    ],
    'no body': [204, '', '', 'it does not speak MCP: it answers with nothing'],
  }
  for (const [what, [status, type, body, reason]] of Object.entries(elsewhere)) {
    it(`says in one sentence that an address does not speak MCP, but answers ${what}`, async () => {
      const { rude, list, warnings } = await start([GOOD], {
        instead: (_request, answer) =>
          answer.writeHead(status, type ? { 'content-type': type } : {}).end(body || undefined),
      })
      expect(await list()).to.deep.equal([])
      expect(rude.calls).to.deep.equal([])
      expect(warnings()).to.deep.equal([
        `warn The MCP server 'rude' cannot be reached: ${reason}. Next attempt in 1 s, later ones up to 30 s apart.`,
      ])
    })
  }
})
