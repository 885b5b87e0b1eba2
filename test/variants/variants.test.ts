import { AgentHost, defineModule, LLM, Response, TextMessageHandler, Type } from 'agent-host'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'

/** What the modules of a test have done. */
interface Deeds {
  readonly created: string[]
  readonly disposed: string[]
}

function makeModules() {
  const deeds: Deeds = { created: [], disposed: [] }
  const model = defineModule({
    name: 'Model',
    provides: [LLM],
    scope: 'agent',
    config: Type.Object({ model: Type.String(), base_url: Type.String({ default: 'http://a' }) }),
    create: (_, { model: name }) => {
      deeds.created.push(`model ${name}`)
      return {
        modelInfo: { name, provider: 'test' },
        async *generate() {
          yield { type: 'text' as const, text: name }
        },
        dispose: () => void deeds.disposed.push(`model ${name}`),
      }
    },
  })
  const shelf = defineModule({
    name: 'Shelf',
    provides: [],
    scope: 'agent',
    create: () => {
      deeds.created.push('shelf')
      return { dispose: () => void deeds.disposed.push('shelf') }
    },
  })
  const speaker = defineModule({
    name: 'Speaker',
    provides: [TextMessageHandler],
    uses: { llm: LLM, response: Response },
    config: Type.Object({
      system_prompt: Type.String({ default: '' }),
      tone: Type.Enum(['kind', 'short'], { default: 'kind', variant: true }),
      limits: Type.Object({ steps: Type.Integer({ minimum: 1, default: 3, variant: true }) }, { default: {} }),
      file: Type.String({ default: 'a.txt' }),
    }),
    create: ({ llm, response }, { system_prompt, tone, limits }) => ({
      async handleText(text, run) {
        let model = ''
        for await (const part of llm.generate({ messages: [] }, run)) if (part.type === 'text') model += part.text
        await response.respondText(`${system_prompt}|${tone}|${limits.steps}|${model}|${text}`)
      },
    }),
  })
  const agent = (prompt = 'plain') => ({
    id: 'talker',
    modules: [
      { id: 'llm', module: model, config: { model: '${MODEL}' } },
      { id: 'shelf', module: shelf },
      { id: 'speaker', module: speaker, config: { system_prompt: prompt } },
    ],
  })
  return { deeds, agent }
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail(),
    (error: unknown) => error,
  )
const change = (module: string, path: string, value?: unknown) => ({ module, path: path.split('.'), value })
const PROMPT = [change('speaker', 'system_prompt', 'other')]

describe('variants of an agent', () => {
  const hosts: AgentHost[] = []
  async function makeHost() {
    const { deeds, agent } = makeModules()
    const host = new AgentHost({ environment: { MODEL: 'small', KEY: 'sesame-open' } })
    hosts.push(host)
    await host.register(agent())
    return { host, deeds, agent }
  }
  afterEach(() => Promise.all(hosts.splice(0).map((host) => host.close(0))))

  it('run under the id of the agent, with changed values and a version of their own; the agent stays as it is', async () => {
    const { host } = await makeHost()
    const variant = [...PROMPT, change('speaker', 'tone', 'short'), change('speaker', 'limits.steps', 5)]
    const told: string[] = []
    host.onEvent(({ agent_id, agent_version, variant }) => told.push(`${agent_id} ${agent_version} ${variant?.length}`))
    expect((await host.run('talker', 'hi', { variant })).text).to.equal('other|short|5|small|hi')
    const info = await host.openVariant('talker', variant)
    expect(info.id).to.equal('talker')
    expect(info.version).to.not.equal(host.get('talker')?.version)
    expect(new Set(told)).to.deep.equal(new Set([`talker ${info.version} 3`]))
    expect((await host.run('talker', 'hi')).text).to.equal('plain|kind|3|small|hi')
  })

  it('share the agent-scoped modules that did not change, and dispose their own alone', async () => {
    const { host, deeds, agent } = await makeHost()
    expect((await host.run('talker', 'hi', { variant: PROMPT })).text).to.equal('other|kind|3|small|hi')
    expect(deeds.created).to.deep.equal(['model small', 'shelf'])
    const large = [change('llm', 'model', 'large')]
    expect((await host.run('talker', 'hi', { variant: large })).text).to.equal('plain|kind|3|large|hi')
    expect((await host.run('talker', 'hi', { variant: large })).text).to.equal('plain|kind|3|large|hi')
    expect(deeds.created).to.deep.equal(['model small', 'shelf', 'model large'])
    await host.replace('talker', agent('newer'))
    await eventually(() => expect(deeds.disposed.sort()).to.deep.equal(['model large', 'model small', 'shelf']))
    expect((await host.run('talker', 'hi', { variant: large })).text).to.equal('newer|kind|3|large|hi')
  })

  it('keep the version that they are of in service until their runs have ended', async () => {
    const { host, deeds, agent } = await makeHost()
    await host.openVariant('talker', PROMPT)
    const reserved = host.reserve('talker', false)
    await reserved.vary(PROMPT)
    await host.replace('talker', agent('newer'))
    const turn = { messages: [{ role: 'user' as const, content: 'hi' }], variant: PROMPT }
    expect((await reserved.start(turn).result).text).to.equal('other|kind|3|small|hi')
    await eventually(() => expect(deeds.disposed.sort()).to.deep.equal(['model small', 'shelf']))
  })

  it('start only when they are open: a turn that names another is refused', async () => {
    const { host } = await makeHost()
    const messages = [{ role: 'user' as const, content: 'hi' }]
    expect(() => host.start('talker', { messages, variant: PROMPT })).to.throw('is not open')
    await host.openVariant('talker', PROMPT)
    expect((await host.start('talker', { messages, variant: PROMPT }).result).text).to.equal('other|kind|3|small|hi')
  })

  it('may remove a value; what the schema says holds for them, at the value', async () => {
    const { host } = await makeHost()
    const removed = await host.run('talker', 'hi', { variant: [change('speaker', 'system_prompt')] })
    expect(removed.text).to.equal('|kind|3|small|hi')
    const error = await failure(host.openVariant('talker', [change('speaker', 'limits.steps', 0)]))
    expect(error).to.deep.include({
      code: 'AGENT_INVALID',
      problems: [
        {
          message: "module 'speaker' (Speaker), config: limits.steps must be a whole number of at least 1.",
          suggestions: [],
          module: 'speaker',
          path: ['limits', 'steps'],
        },
      ],
    })
  })

  it('say all that they may not change, and what they may', async () => {
    const { host } = await makeHost()
    const error = await failure(
      host.openVariant('talker', [
        change('speaker', 'file', '/etc/passwd'),
        change('llm', 'base_url', 'http://b'),
        change('speker', 'tone', 'short'),
        change('orchestrator', 'tone', 'short'),
        change('speaker', 'limits.step', 4),
      ]),
    )
    expect(error).to.have.property(
      'message',
      [
        "module 'speaker' (Speaker), config: file may not be changed by a variant.",
        "module 'llm' (Model), config: base_url may not be changed by a variant.",
        "There is no module 'speker'.",
        "There is no module 'orchestrator'.",
        "module 'speaker' (Speaker), config: limits.step may not be changed by a variant.",
      ].join('\n'),
    )
    expect(error).to.have.deep.property('suggestions', [
      'These may: system_prompt, tone, limits.steps. For all others edit the file.',
      'These may: model. For all others edit the file.',
      "Did you mean 'speaker'?",
      'Modules: llm, shelf, speaker',
      "Did you mean 'limits.steps'?",
      'These may: system_prompt, tone, limits.steps. For all others edit the file.',
    ])
  })

  it('take no variable of the environment that the value does not have already', async () => {
    const { host } = await makeHost()
    const run = (path: string, value: unknown) =>
      host.run('talker', 'hi', { variant: [change(path.split(' ')[0] as string, path.split(' ')[1] as string, value)] })
    expect(await failure(run('speaker system_prompt', 'Say ${KEY}'))).to.have.property(
      'message',
      "module 'speaker' (Speaker), config: system_prompt has '${KEY}', which this value does not have in the file.",
    )
    expect(await failure(run('llm model', '${MODEL:-${KEY}}'))).to.have.property('code', 'AGENT_INVALID')
    expect((await run('speaker system_prompt', 'Say $${KEY}')).text).to.equal('Say ${KEY}|kind|3|small|hi')
    expect((await run('llm model', '${MODEL}-mini')).text).to.equal('plain|kind|3|small-mini|hi')
  })

  it('have the name of a model, and no address or way to another folder in its place', async () => {
    const { host } = await makeHost()
    const run = (model: string) => host.run('talker', 'hi', { variant: [change('llm', 'model', model)] })
    for (const model of ['models/../../v2/evil', 'evil//evil.test', '../evil', 'm?key=1', 'm'.repeat(301)]) {
      const problem = `module 'llm' (Model), config: model must be the name of a model, not '${model.slice(0, 100)}'.`
      expect(await failure(run(model))).to.have.property('message', problem)
    }
    expect((await run('eu/models/small-1:2026.1')).text).to.equal('plain|kind|3|eu/models/small-1:2026.1|hi')
  })

  it('go on with their values when they have waited', async () => {
    const { host } = await makeHost()
    const waiting = {
      runId: 'r',
      agent: 'talker',
      trail: [
        { role: 'user' as const, content: 'hi' },
        { role: 'assistant' as const, content: '', toolCalls: [{ id: 'c', name: 'find', arguments: {} }] },
      ],
      pending: [{ callId: 'c', kind: 'client_tool' as const, name: 'find', arguments: {} }],
      options: { variant: PROMPT },
    }
    const answer = { callId: 'c', kind: 'client_tool' as const, result: { text: 'found' } }
    expect((await host.resume(waiting, [answer])).text).to.match(/^other\|/)
  })
})
