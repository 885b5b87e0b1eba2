import type { ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { LLM, LLMPart, Message, Module, ModuleContext, ToolDefinition, Usage } from 'agent-host'
import { expect } from 'chai'
import { Value } from 'typebox/value'
import { Budget } from '../../modules/orchestrator/lib/budget.ts'
import { callModel } from '../../modules/orchestrator/lib/call-model.ts'
import { failure } from '../support/connect-model.ts'
import { startModelServer } from '../support/fake-model-server.ts'
import { makeContext, makeRun, says } from '../support/fake-run.ts'
import { type Script, USAGE, type Wire } from '../support/model-wires.ts'
import { collect, describeLLM, textOf } from './llm-suite.ts'

/** The module of a vendor, and the wire that it speaks. */
export interface VendorCase {
  readonly reference: string
  readonly module: {
    readonly config: Module['config']
    create(dependencies: Record<never, never>, config: never, context: ModuleContext): LLM | Promise<LLM>
  }
  readonly wire: Wire
  /** Config that points at the server; `url` has no path. */
  readonly config: (url: string) => object
  /** Variables of the environment that hold the key. */
  readonly environment: Readonly<Record<string, string>>
  readonly keyNames?: string
  /** What the usage comes out as, where the wire does not tell all of it. */
  readonly usage?: Partial<Usage>
  /** False for one whose calls have objects as arguments, never text. */
  readonly writesJson?: boolean
  /** True for one that refuses text without a visible character. */
  readonly refusesBlank?: boolean
  /** True for one that says which stop sequence ended a text. */
  readonly saysStopSequence?: boolean
}

const words: Script = { text: ['one', ' two'] }
export const weather: ToolDefinition = {
  name: 'weather',
  description: 'Tells the weather.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
export const twoCalls: Script = {
  reasoning: ['let me', ' see'],
  text: ['I look.'],
  calls: [
    { id: 'call_a', name: 'weather', json: ['{"city":', '"Oslo"}'] },
    { id: 'call_b', name: 'weather', json: ['{"city":"Lima"}'] },
  ],
}

/** What a request with {@link twoCalls} in its history says, and one that forces the tool. */
export const afterTwoCalls: readonly Message[] = [
  { role: 'system', content: 'Be kind.' },
  says('Weather?'),
  {
    role: 'assistant',
    content: 'I look.',
    toolCalls: [
      { id: 'call_a', name: 'weather', arguments: { city: 'Oslo' } },
      { id: 'call_b', name: 'weather', arguments: { city: 'Lima' } },
    ],
  },
  { role: 'tool', content: 'snow', toolCallId: 'call_a' },
  { role: 'tool', content: 'sun', toolCallId: 'call_b' },
]

/** The conversation after a model that plays {@link twoCalls} was asked: its message as an orchestrator sends it back. */
export async function afterAsking(llm: LLM): Promise<Message[]> {
  const budget = new Budget({}, makeRun())
  const { message } = await callModel(llm, { messages: [says('Weather?')], tools: [weather] }, budget)
  return afterTwoCalls.map((each) => (each.role === 'assistant' ? message : each))
}

/** Parts without what only their vendor understands. */
function withoutMetadata(parts: readonly LLMPart[]): object[] {
  return parts.flatMap((part) => {
    const { providerMetadata: _, ...plain } = part as Extract<LLMPart, { type: 'text' }>
    if (part.type === 'text' && part.text === '') return []
    if (part.type !== 'tool_call') return [plain]
    const { providerMetadata: _signature, ...call } = part.call
    return [{ ...plain, call }]
  })
}

/** Connects a vendor's module to fake servers, which are stopped after each test. For use inside `describe`. */
export function connectsVendor({ module, config, environment }: VendorCase) {
  const open: Awaited<ReturnType<typeof startModelServer>>[] = []
  afterEach(() => Promise.all(open.splice(0).map((server) => server.stop())))

  return async function connect(
    answers: Parameters<typeof startModelServer>,
    more: object = {},
    facts: Partial<ModuleContext> = {},
  ) {
    const server = await startModelServer(...answers)
    open.push(server)
    const context = makeContext({ environment, ...facts })
    const given = { model: 'm', ...config(server.url.replace(/\/v1$/, '')), ...more }
    const parsed = Value.Parse(module.config, Value.Default(module.config, given))
    const llm: LLM = await module.create({}, parsed as never, context)
    return { server, llm, context }
  }
}

export function plays(wire: Wire, script: Script, { upTo = Number.POSITIVE_INFINITY, cut = false, open = false } = {}) {
  return (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': wire.contentType })
    for (const piece of wire.answer(script).slice(0, upTo)) response.write(piece)
    if (cut) void setTimeout(20).then(() => response.destroy())
    else if (!open) response.end()
    else response.flushHeaders()
  }
}

/** Sends the answer in pieces of so many bytes, with a pause after each. */
function trickles(wire: Wire, script: Script, size: number, pauseMs: number) {
  return async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': wire.contentType })
    const bytes = Buffer.concat(wire.answer(script).map((piece) => Buffer.from(piece)))
    for (let sent = 0; sent < bytes.length && !response.destroyed; sent += size) {
      response.write(bytes.subarray(sent, sent + size))
      await setTimeout(pauseMs)
    }
    response.end()
  }
}

function refuses(wire: Wire, status: number, message: string, headers: Record<string, string> = {}) {
  return (response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(wire.refusal(message)))
  }
}

const asks = { messages: [says('hi')] }

/** What every vendor's module promises, whichever wire it speaks. */
export function describeVendor(vendor: VendorCase): void {
  const { wire, reference, environment, keyNames = Object.keys(environment)[0] } = vendor
  const [key = ''] = Object.values(environment)
  const connect = connectsVendor(vendor)

  describeLLM(async () => (await connect([plays(wire, words)])).llm)

  it('returns reasoning apart from text, whole parallel calls, and usage with cached tokens', async () => {
    const { llm } = await connect([plays(wire, twoCalls)])
    const parts = await collect(llm, { ...asks, tools: [weather] })
    expect(parts.flatMap((part) => (part.type === 'reasoning' ? part.text : [])).join('')).to.equal('let me see')
    expect(withoutMetadata(parts.filter(({ type }) => type !== 'reasoning'))).to.deep.equal([
      { type: 'text', text: 'I look.' },
      { type: 'tool_call', call: { id: 'call_a', name: 'weather', arguments: { city: 'Oslo' } } },
      { type: 'tool_call', call: { id: 'call_b', name: 'weather', arguments: { city: 'Lima' } } },
      { type: 'usage', usage: { ...USAGE, ...vendor.usage }, model: 'm' },
      { type: 'finish', reason: 'tool_calls' },
    ])
  })

  it('marks an answer that reached its limit', async () => {
    const { llm } = await connect([plays(wire, { ...words, end: 'length' })])
    expect((await collect(llm, asks)).at(-1)).to.deep.equal({ type: 'finish', reason: 'length' })
  })

  it('says which stop sequence ended an answer, where the vendor does', async () => {
    const { llm } = await connect([plays(wire, { ...words, stopSequence: 'END' })])
    const stopSequence = vendor.saysStopSequence ? { stopSequence: 'END' } : {}
    const { type, ...end } = (await collect(llm, { ...asks, stop: ['STOP', 'END'] })).at(-1) as LLMPart
    expect([type, end]).to.deep.equal(['finish', { reason: 'stop', ...stopSequence }])
  })

  it('retries after a 429 when the server says, and after an overload', async () => {
    const { server, llm } = await connect([
      refuses(wire, 429, 'slow down', { 'retry-after': '0.3' }),
      refuses(wire, 503, 'overloaded', { 'retry-after': '0' }),
      plays(wire, words),
    ])
    const startedMs = Date.now()
    expect(textOf(await collect(llm, asks))).to.equal('one two')
    // By itself it would wait for 1.5 seconds.
    expect(Date.now() - startedMs).to.be.within(280, 1200)
    expect(server.requests).to.have.lengthOf(3)
  })

  it('leaves out a tool that the vendor refuses', async () => {
    const { server, llm } = await connect([
      refuses(wire, 400, "Invalid schema for function 'odd': x"),
      plays(wire, words),
    ])
    const tools = [weather, { ...weather, name: 'odd' }]
    expect(textOf(await collect(llm, { ...asks, tools }))).to.equal('one two')
    const names = server.requests.map(({ body }) =>
      ['weather', 'odd'].filter((name) => JSON.stringify(body).includes(`"${name}"`)),
    )
    expect(names).to.deep.equal([['weather', 'odd'], ['weather']])
  })

  it('names the module and the source of a refused key, never the key', async () => {
    const { server, llm } = await connect([refuses(wire, 401, `Incorrect key: ${key}, sk-a***z`)])
    const message = await failure(collect(llm, asks))
    expect(message).to.match(new RegExp(`\\[redacted\\].* \\(status 401 from the model 'm' of ${reference} at \\S+\\)`))
    expect(message).to.contain(`${keyNames} in .env or the environment, or api_key in the config of module 'module'.`)
    expect(message).not.to.contain(key)
    expect(message).not.to.contain('***')
    expect(server.requests).to.have.lengthOf(1)
  })

  it('follows no redirect to another origin, which would get the key', async () => {
    const other = await connect([plays(wire, words)])
    for (const status of [302, 307, 308]) {
      const { server, llm } = await connect([
        (response) => void response.writeHead(status, { location: `${other.server.url}?key=x` }).end(),
      ])
      const { origin } = new URL(other.server.url)
      expect(await failure(collect(llm, asks))).to.match(
        new RegExp(`^the server redirects to ${origin}, which is not followed \\(${status}\\) \\(the model 'm' of `),
      )
      expect(server.requests).to.have.lengthOf(1)
    }
    expect(other.server.requests).to.deep.equal([])
  })

  it("fails on a reason that is a vendor's failure, and on an empty answer that ends for an unknown one", async () => {
    const failed = await connect([plays(wire, { text: ['half an ans'], end: 'failed' })])
    expect(await failure(collect(failed.llm, asks))).to.match(/^the answer ended with '\w+' \(the model 'm' of .*\)$/)
    const empty = await connect([plays(wire, { end: 'unheard' })])
    expect(await failure(collect(empty.llm, asks))).to.match(/^an empty answer ended with 'brand_new' \(/i)
  })

  it('logs an unknown reason once, by name', async () => {
    const { llm, context } = await connect([plays(wire, { ...words, end: 'unheard' })])
    const answers = [await collect(llm, asks), await collect(llm, asks)]
    expect(answers.map((parts) => parts.at(-1))).to.deep.equal(Array(2).fill({ type: 'finish', reason: 'other' }))
    const { lines } = context as ReturnType<typeof makeContext>
    const told = lines.flatMap(
      (line) => /it ended an answer for a reason that is not known here: (\w+)$/.exec(line)?.[1] ?? [],
    )
    expect(told.map((reason) => reason.toLowerCase())).to.deep.equal(['brand_new'])
  })

  it("reports an error or a page behind status 200 with the vendor's own words", async () => {
    const said = async (type: string, body: string) => {
      const { llm } = await connect([(response) => void response.writeHead(200, { 'content-type': type }).end(body)])
      return failure(collect(llm, asks))
    }
    const refusal = JSON.stringify(wire.refusal('No endpoints found'))
    const expected = /^No endpoints found \(an error behind status 200\) \(the model 'm' of .*\)$/
    expect(await said('application/json', refusal)).to.match(expected)
    expect(await said('text/event-stream', `\n${refusal}`)).to.match(expected)
    const page = '<html><head><style>p {}</style></head><body>Please <b>sign in</b></body></html>'
    expect(await said('text/html', page)).to.match(/^a page of HTML behind status 200: Please sign in \(the model/)
    expect(await said('text/plain', 'upstream gone')).to.match(
      /^text behind status 200 instead of a stream: upstream gone \(/,
    )
    expect(await said('application/json', '{"choices": []}')).to.match(
      /^JSON behind status 200 instead of a stream: \{"c/,
    )
  })

  it("reports an error mid-stream with the server's message", async () => {
    const { llm } = await connect([
      (response) => {
        response.writeHead(200, { 'content-type': wire.contentType })
        for (const piece of wire.answer(words).slice(0, -2)) response.write(piece)
        response.end(wire.error('the machine is on fire'))
      },
    ])
    expect(await failure(collect(llm, asks))).to.match(
      /^The stream of the model 'm' of .* broke off: the machine is on fire$/,
    )
  })

  it('calls nothing before the vendor has ended its answer', async () => {
    const pieces = wire.answer(twoCalls)
    for (const upTo of [pieces.length - 1, pieces.length - 3]) {
      const { llm } = await connect([plays(wire, twoCalls, { upTo, cut: true })])
      const parts: LLMPart[] = []
      const reading = async () => {
        for await (const part of llm.generate({ ...asks, tools: [weather] }, makeRun())) parts.push(part)
      }
      const error = await failure(reading())
      // Bedrock and chat completions have said why they ended before their last piece.
      if (error !== 'It did not fail.') expect(parts.map(({ type }) => type)).not.to.include('tool_call')
    }
  })

  it('calls nothing that a limit has cut off, and keeps the text', async () => {
    const cut: Script = { ...twoCalls, end: 'length' }
    const { llm } = await connect([plays(wire, cut)])
    const parts = await collect(llm, { ...asks, tools: [weather] })
    expect(textOf(parts)).to.equal('I look.')
    expect(parts.map(({ type }) => type)).not.to.include('tool_call')
    expect(parts.at(-1)).to.deep.equal({ type: 'finish', reason: 'length' })
  })

  if (vendor.writesJson !== false) {
    it('passes on what a model wrote where its arguments are no JSON object', async () => {
      for (const written of ['{"city": Oslo}', '["Oslo"]', '{"city":"Oslo"}{"city":"Lima"}']) {
        const calls = [{ id: 'call_a', name: 'weather', json: [written] }]
        const { llm } = await connect([plays(wire, { calls })])
        const parts = withoutMetadata(await collect(llm, { ...asks, tools: [weather] }))
        const call = { id: 'call_a', name: 'weather', arguments: {}, unreadable: written }
        expect(parts[0]).to.deep.equal({ type: 'tool_call', call })
      }
    })
  }

  it('fails on an answer cut off by the connection or the server', async () => {
    for (const cut of [true, false]) {
      const upTo = wire.answer(words).findIndex((piece) => String(piece).includes(' two')) + 1
      const { server, llm } = await connect([plays(wire, words, { upTo, cut })])
      expect(await failure(collect(llm, asks)), `cut: ${cut}`).to.match(
        /^The stream of the model 'm' of .* broke off: ./,
      )
      expect(server.requests).to.have.lengthOf(1)
    }
  })

  it('waits as long as any byte arrives, however long the next part takes', async () => {
    const whole = wire.answer(words).reduce((length, piece) => length + piece.length, 0)
    const { llm } = await connect([trickles(wire, words, Math.ceil(whole / 4), 450)], { timeout: 1 })
    expect(textOf(await collect(llm, asks))).to.equal('one two')
    const long: Script = { text: ['one'.repeat(200)] }
    const slow = await connect([trickles(wire, long, 120, 400)], { timeout: 1 })
    expect(textOf(await collect(slow.llm, asks))).to.equal('one'.repeat(200))
  }).timeout(20_000)

  it('names the limit that was reached: of silence, or of signs of life without a part of the answer', async () => {
    const silent = await connect([plays(wire, words, { upTo: 0, open: true })], { timeout: 1 })
    expect(await failure(collect(silent.llm, asks))).to.match(
      /^The model 'm' of .* said nothing for 1 s \(timeout\)\.$/,
    )
    const busy = await connect([trickles(wire, words, 3, 100)], { part_timeout: 1 })
    expect(await failure(collect(busy.llm, asks))).to.match(
      /^The model 'm' of .* gave signs of life, but sent no part of its answer, for 1 s \(part_timeout\)\.$/,
    )
  })

  if (vendor.refusesBlank) describeBlank(vendor)

  it('closes the connection when the run is aborted, with the reason of the run', async () => {
    let closed = () => {}
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve
    })
    const { llm } = await connect([
      (response) => {
        response.on('close', closed)
        response.writeHead(200, { 'content-type': wire.contentType })
        const pieces = wire.answer(words)
        for (const piece of pieces.slice(0, pieces.findIndex((text) => String(text).includes('one')) + 1)) {
          response.write(piece)
        }
      },
    ])
    const run = makeRun()
    const reading = async () => {
      for await (const part of llm.generate(asks, run)) {
        expect(part).to.deep.equal({ type: 'text', text: 'one' })
        void setTimeout(20).then(() => run.abort(new Error('enough')))
      }
    }
    expect(await failure(reading())).to.equal('enough')
    await isClosed
  })
}

/** What a module promises that cannot be asked without a key. */
export function describeKey(vendor: VendorCase): void {
  const { reference, environment, keyNames = Object.keys(environment)[0] } = vendor
  const connect = connectsVendor(vendor)

  it('loads without a key; a call says how to set one', async () => {
    const { server, llm, context } = await connect([], {}, { environment: {} })
    const said = `${reference} has no key. Set ${keyNames} in .env or the environment, or api_key in the config of module 'module'.`
    expect((context as ReturnType<typeof makeContext>).lines).to.deep.equal([`warn ${said}`])
    expect(await failure(collect(llm, asks))).to.equal(said)
    expect(server.requests).to.deep.equal([])
  })
}

/** What a module promises whose vendor refuses text without a visible character. */
function describeBlank(vendor: VendorCase): void {
  const connect = connectsVendor(vendor)
  const blank = '\n\n'

  it('sends no blank text, whoever said it', async () => {
    const { server, llm } = await connect([plays(vendor.wire, words)])
    const calls = [{ id: 'call_a', name: 'weather', arguments: { city: 'Oslo' } }]
    const attachments = [{ mediaType: 'image/png', data: Uint8Array.of(1) }]
    await collect(llm, {
      messages: [
        { role: 'system', content: '' },
        says('a'),
        { role: 'assistant', content: blank },
        says(blank),
        { role: 'assistant', content: blank, toolCalls: calls },
        { role: 'tool', content: blank, toolCallId: 'call_a' },
        { role: 'tool', content: '', toolCallId: 'call_a', attachments },
        { role: 'user', content: ' ', attachments },
      ],
      tools: [weather],
    })
    const body = JSON.stringify(server.requests[0]?.body)
    expect(body).not.to.match(/"(text|content)":("(\s|\\n)*"|\[\])/)
    expect(body).to.contain('(no text)')
  })

  it("refuses a blank question as the client's own fault", async () => {
    const { server, llm } = await connect([plays(vendor.wire, words)])
    for (const messages of [
      [says(' \n ')],
      [says('a'), says('')],
      [says('a'), { role: 'assistant', content: 'b' }, says('\n')],
    ]) {
      const error = await collect(llm, { messages: messages as Message[] }).catch((thrown: unknown) => thrown)
      expect(error).to.include({ code: 'REQUEST_INVALID' })
    }
    expect(server.requests).to.deep.equal([])
  })
}
