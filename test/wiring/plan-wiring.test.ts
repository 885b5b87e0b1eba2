import {
  ConversationHistory,
  type Dependency,
  LLM,
  many,
  optional,
  type Protocol,
  Response,
  TextMessageHandler,
  ToolProvider,
} from 'agent-host'
import { expect } from 'chai'
import fc from 'fast-check'
import { readDefinition } from '../../src/definition/definition.ts'
import { planWiring } from '../../src/wiring/plan-wiring.ts'
import type { ModuleSpec } from '../../src/wiring/wiring.ts'

interface Described {
  provides?: Protocol[]
  uses?: Record<string, Dependency>
  scope?: 'instance' | 'agent'
  entry?: object
}

const handler: Described = { provides: [TextMessageHandler] }
const llm: Described = { provides: [LLM] }
const planner: Described = { provides: [TextMessageHandler], uses: { model: LLM } }

/** Each module a line of its own, from line 3 on; `exchange` follows. */
function plan(modules: Record<string, Described>, exchange: object[] = []) {
  const lines = ['id: support', 'modules:']
  for (const [id, { entry = {} }] of Object.entries(modules))
    lines.push(`  - ${JSON.stringify({ id, module: id, ...entry })}`)
  lines.push('exchange:', ...exchange.map((item) => `  - ${JSON.stringify(item)}`))
  const text = exchange.length > 0 ? lines.join('\n') : lines.slice(0, -1).join('\n')
  const facts = new Map<string, ModuleSpec>(
    Object.entries(modules).map(([id, { provides = [], uses = {}, scope = 'instance' }]) => [
      id,
      { provides, uses, scope },
    ]),
  )
  return planWiring(readDefinition(text, 'agents/s.yml'), facts)
}

function planned(modules: Record<string, Described>, exchange: object[] = []) {
  const outcome = plan(modules, exchange)
  if ('problems' in outcome) throw new Error(outcome.problems.map(({ message }) => message).join('\n'))
  return outcome.plan
}

function problems(modules: Record<string, Described>, exchange: object[] = []): string[] {
  const outcome = plan(modules, exchange)
  if ('plan' in outcome) throw new Error('The wiring was accepted.')
  return outcome.problems.map(({ line, message, suggestions }) => [`${line}: ${message}`, ...suggestions].join(' | '))
}

/** `module.field` -> providers */
function links(modules: Record<string, Described>, exchange: object[] = []): Record<string, readonly string[]> {
  const entries = planned(modules, exchange).modules.flatMap(({ id, links: all }) =>
    all.map(({ field, providers }): [string, readonly string[]] => [`${id}.${field}`, providers]),
  )
  return Object.fromEntries(entries)
}

describe('planWiring', () => {
  it('gives a dependency its only provider, created first', () => {
    const { modules, entryPoints } = planned({ planner, gpt: llm })
    expect(modules.map(({ id }) => id)).to.deep.equal(['gpt', 'planner'])
    expect(links({ planner, gpt: llm })).to.deep.equal({ 'planner.model': ['gpt'] })
    expect([...entryPoints.values()]).to.deep.equal([
      { name: '__entry__', handlers: { TextMessageHandler: 'planner' } },
    ])
  })

  it('gives many() every provider, and optional() none if there is none', () => {
    const all = { uses: { tools: many(ToolProvider), model: optional(LLM) }, provides: [TextMessageHandler] }
    const tools = { provides: [ToolProvider] }
    expect(links({ all, a: tools, b: tools })).to.deep.equal({ 'all.tools': ['a', 'b'], 'all.model': [] })
    expect(links({ all })).to.deep.equal({ 'all.tools': [], 'all.model': [] })
  })

  it('shows the line to add if two modules could be meant', () => {
    expect(problems({ planner, gpt: llm, local: llm })).to.deep.equal([
      "3: Agent 'support': module 'planner' needs 'LLM' (field 'model'), and two modules provide it: 'gpt' and 'local'. | Add under exchange: { module: planner, protocol: LLM, provider: gpt }",
    ])
    const choice = [{ module: 'planner', protocol: 'LLM', provider: 'local' }]
    expect(links({ planner, gpt: llm, local: llm }, choice)).to.deep.equal({ 'planner.model': ['local'] })
  })

  it('names the field if a module has several dependencies on one protocol', () => {
    const judge = { provides: [TextMessageHandler], uses: { writer: LLM, critic: LLM } }
    expect(problems({ judge, gpt: llm, local: llm })[1]).to.equal(
      "3: Agent 'support': module 'judge' needs 'LLM' (field 'critic'), and two modules provide it: 'gpt' and 'local'. | Add under exchange: { module: judge, protocol: LLM, provider: gpt, fieldName: critic }",
    )
    const exchange = [
      { module: 'judge', protocol: 'LLM', provider: 'gpt' },
      { module: 'judge', protocol: 'LLM', provider: 'local', fieldName: 'critic' },
    ]
    expect(links({ judge, gpt: llm, local: llm }, exchange)).to.deep.equal({
      'judge.writer': ['gpt'],
      'judge.critic': ['local'],
    })
  })

  it('reports a missing provider', () => {
    expect(problems({ planner })).to.deep.equal([
      "3: Agent 'support': module 'planner' needs 'LLM' (field 'model'), and no module provides it. | Add a module that provides 'LLM', such as llm/auto.",
    ])
    expect(problems({ gpt: llm })).to.deep.equal([
      "2: Agent 'support': no module handles messages. | Add a module that provides 'TextMessageHandler', such as orchestrator/tool-loop.",
    ])
  })

  it("gives the run's own provider to dependencies without another, and to a filter", () => {
    const talker = { provides: [TextMessageHandler], uses: { response: Response, history: ConversationHistory } }
    const filter = { provides: [Response], uses: { response: Response } }
    expect(links({ talker })).to.deep.equal({
      'talker.response': ['__response__'],
      'talker.history': ['__conversation__'],
    })
    expect(links({ talker, filter })).to.deep.equal({
      'filter.response': ['__response__'],
      'talker.response': ['filter'],
      'talker.history': ['__conversation__'],
    })
  })

  it('has an entry point for each named provider, the first by default', () => {
    const entry = { module: '__entry__', protocol: 'TextMessageHandler', provider: ['support', 'sales'] }
    const { entryPoints } = planned({ support: handler, sales: handler }, [entry])
    expect([...entryPoints.values()]).to.deep.equal([
      { name: '__entry__', handlers: { TextMessageHandler: 'support' } },
      { name: 'support', handlers: { TextMessageHandler: 'support' } },
      { name: 'sales', handlers: { TextMessageHandler: 'sales' } },
    ])
    expect(problems({ support: handler, sales: handler })).to.deep.equal([
      "2: Agent 'support': it is not clear which module answers: 'support' and 'sales' handle messages. | Add under exchange: { module: __entry__, protocol: TextMessageHandler, provider: support }",
    ])
    const router = { ...handler, uses: { handlers: many(TextMessageHandler), response: Response } }
    expect(problems({ support: handler, sales: handler, router })[0]).to.match(/provider: router }$/)
  })

  it("lets provides and uses only narrow the module's declaration", () => {
    const both = { provides: [TextMessageHandler, LLM], uses: { response: Response }, entry: { provides: ['LLM'] } }
    expect(links({ planner, both })).to.deep.equal({ 'both.response': ['__response__'], 'planner.model': ['both'] })
    expect(problems({ handler: { ...handler, entry: { provides: ['LLM'] } } })[0]).to.equal(
      "3: Agent 'support': module 'handler' (handler) does not provide 'LLM'. | It provides 'TextMessageHandler'.",
    )
    expect(problems({ planner: { ...planner, entry: { uses: [] } }, gpt: llm })).to.deep.equal([
      "3: Agent 'support': module 'planner' cannot do without 'LLM' (field 'model'). | Add LLM under uses.",
    ])
  })

  it('rejects exchange entries with unknown names', () => {
    const base = { planner, gpt: llm }
    const refused = (entry: object) => problems(base, [entry])[0]
    expect(refused({ module: 'planer', protocol: 'LLM', provider: 'gpt' })).to.equal(
      "6: Agent 'support': exchange names the module 'planer', which is not there. | Did you mean 'planner'? | Modules of this agent: 'planner', 'gpt' and '__entry__'.",
    )
    expect(refused({ module: 'planner', protocol: 'LMM', provider: 'gpt' })).to.equal(
      "6: Agent 'support': module 'planner' does not use 'LMM'. | Did you mean 'LLM'? | It uses 'LLM'.",
    )
    expect(refused({ module: 'planner', protocol: 'LLM', provider: 'gtp' })).to.equal(
      "6: Agent 'support': exchange names the provider 'gtp', which is not there. | Did you mean 'gpt'? | These provide it: 'gpt'.",
    )
    expect(refused({ module: 'planner', protocol: 'LLM', provider: 'planner' })).to.equal(
      "6: Agent 'support': module 'planner' does not provide 'LLM'. | These provide it: 'gpt'.",
    )
    expect(refused({ module: 'planner', protocol: 'LLM', provider: 'gpt', fieldName: 'modl' })).to.equal(
      "6: Agent 'support': module 'planner' has no field 'modl' for 'LLM'. | Did you mean 'model'? | Its fields for 'LLM': 'model'.",
    )
    expect(refused({ module: 'planner', protocol: 'LLM', provider: ['gpt', 'planner'] })).to.equal(
      "6: Agent 'support': field 'model' of module 'planner' takes one 'LLM', and exchange gives it 2. | Name one provider.",
    )
    expect(refused({ module: '__entry__', protocol: 'LLM', provider: 'gpt' })).to.match(
      /^6: Agent 'support': 'LLM' is not a message handler, which an entry point must be\./,
    )
  })

  it('rejects an agent-scoped module that uses an instance-scoped one', () => {
    expect(problems({ planner: { ...planner, scope: 'agent' }, gpt: llm })).to.deep.equal([
      "3: Agent 'support': module 'planner' has the scope 'agent' and uses 'gpt', which is made for each run. | Give 'planner' the scope 'instance'. | Give 'gpt' the scope 'agent'.",
    ])
    const twice: Described = { provides: [TextMessageHandler], uses: { first: LLM, second: LLM }, scope: 'agent' }
    expect(problems({ twice, gpt: llm })).to.have.lengthOf(1)
    const talker: Described = { provides: [TextMessageHandler], uses: { response: Response }, scope: 'agent' }
    expect(problems({ talker })).to.deep.equal([
      "3: Agent 'support': module 'talker' has the scope 'agent' and uses 'Response' from the run. | Give 'talker' the scope 'instance'.",
    ])
    const scoped = planned({ planner, gpt: { ...llm, entry: { scope: 'agent' } } })
    expect(scoped.modules.map(({ scope }) => scope)).to.deep.equal(['agent', 'instance'])
  })

  it('reports a circle as a path', () => {
    const a = { provides: [TextMessageHandler, LLM], uses: { tools: ToolProvider } }
    const b = { provides: [ToolProvider], uses: { model: LLM } }
    expect(problems({ a, b })).to.deep.equal([
      "3: Agent 'support': modules depend on each other in a circle: a -> b -> a. | Give one of them another provider.",
    ])
  })

  it('orders modules of any agent without circles after their providers', () => {
    const graph = fc.array(fc.array(fc.nat({ max: 11 }), { maxLength: 4 }), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(graph, fc.array(fc.nat()), (edges, shuffle) => {
        const protocols = edges.map((_, index) => ({ name: `P${index}`, methods: ['go'] }))
        const described = edges.map((targets, index): [string, Described] => {
          // Only to modules before it: no circle can come about.
          const uses = [...new Set(targets)].filter((target) => target < index)
          return [
            `m${index}`,
            {
              provides: [protocols[index] as Protocol, ...(index === edges.length - 1 ? [TextMessageHandler] : [])],
              uses: Object.fromEntries(uses.map((target) => [`f${target}`, protocols[target] as Protocol])),
            },
          ]
        })
        const order = described
          .map((entry, index) => ({ entry, key: shuffle[index] ?? 0 }))
          .sort((x, y) => x.key - y.key)
        const { modules } = planned(Object.fromEntries(order.map(({ entry }) => entry)))
        const seen = new Set<string>()
        for (const { id, links: all } of modules) {
          for (const { field, providers } of all) {
            expect(providers).to.deep.equal([field.replace('f', 'm')])
            expect(seen.has(providers[0] ?? '')).to.equal(true)
          }
          seen.add(id)
        }
        expect(seen.size).to.equal(edges.length)
      }),
      { numRuns: 200 },
    )
  })
})
