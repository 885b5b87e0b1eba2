import { type ScorerArguments, scorers, Type } from 'agent-host'
import { expect } from 'chai'
import { measureCpuTime } from '../support/cpu-time.ts'
import { scorerArguments as given } from '../support/scorer-arguments.ts'

const { exact, contains, tools, toolsInAnyOrder, schema, latency, tokens, cost } = scorers
const call = (name: string, args?: object) => (args ? { name, arguments: args as Record<string, unknown> } : { name })

describe('scorers', () => {
  it('exact compares texts up to blanks around them, and other values as JSON', () => {
    const score = (output: string, expected: unknown) => exact(given({ output, expected }))
    expect(score(' yes\n', 'yes')).deep.equal({ name: 'exact', score: 1 })
    expect(score('Yes', 'yes')).deep.equal({ name: 'exact', score: 0 })
    expect(score('```json\n{"b": [1], "a": 2}\n```', { a: 2, b: [1] })).deep.equal({ name: 'exact', score: 1 })
    expect(score('{"a": 2', { a: 2 })).deep.equal({ name: 'exact', score: 0 })
    expect(score('x', undefined)).equal(null)
  })

  it('exact reads a fence with empty lines, and takes no time for thousands of them', () => {
    const score = (output: string) => exact(given({ output, expected: { a: 1 } }))
    expect(score(' ```\r\n\n{"a": 1}\r\n \n ``` \n')).include({ score: 1 })
    const spentMs = measureCpuTime()
    expect(score(`\`\`\`json\n${'\n'.repeat(2000)}{`)).include({ score: 0 })
    expect(spentMs()).below(500)
  })

  it('contains gives the share of the expected texts, and names those that are missing', () => {
    const score = (expected: unknown) => contains(given({ output: 'Your order is shipped.', expected }))
    expect(score('ORDER')).deep.equal({ name: 'contains', score: 1 })
    const half = { name: 'contains', score: 0.5, metadata: { missing: ['packed'] } }
    expect(score(['shipped', 'packed'])).deep.equal(half)
    expect(score({ a: 1 })).equal(null)
  })

  it('exact reads what a model that went astray has written in linear time', () => {
    const stop = measureCpuTime()
    for (const output of [`\`\`\`json\n{${'\n'.repeat(50_000)}`, `\`\`\`${'\n'.repeat(2000)}x`]) {
      expect(exact(given({ output, expected: {} }))).deep.equal({ name: 'exact', score: 0 })
    }
    expect(stop()).lessThan(1000)
    const blanks = '\n \n'.repeat(10_000)
    expect(exact(given({ output: `\`\`\`${blanks}{}${blanks}\`\`\``, expected: {} }))).deep.equal({
      name: 'exact',
      score: 1,
    })
    expect(exact(given({ output: '```json\n{}```', expected: {} }))).deep.equal({ name: 'exact', score: 0 })
  })

  it('tools compares names, arguments and order', () => {
    const made = [call('find', { id: 1 }), call('refund', { id: 1, euros: 5 })]
    const score = (expectedTools: ScorerArguments['expectedTools']) =>
      tools(given({ expectedTools, run: { tools: made } }))
    expect(score(made)).deep.equal({ name: 'tools', score: 1 })
    expect(score([call('find'), call('refund')])).deep.equal({ name: 'tools', score: 1 })
    const swapped = { name: 'tools', score: 0.5, metadata: { missing: [call('find')], unexpected: [made[0]] } }
    expect(score([call('refund'), call('find')])).deep.equal(swapped)
    const other = call('refund', { id: 2, euros: 5 })
    const wrong = { name: 'tools', score: 0.5, metadata: { missing: [other], unexpected: [made[1]] } }
    expect(score([call('find'), other])).deep.equal(wrong)
    expect(score([])).deep.equal({ name: 'tools', score: 0, metadata: { missing: [], unexpected: made } })
    expect(score(undefined)).equal(null)
    expect(tools(given({ expectedTools: [] }))).deep.equal({ name: 'tools', score: 1 })
    const anyOrder = given({ expectedTools: [call('refund'), call('find')], run: { tools: made } })
    expect(toolsInAnyOrder(anyOrder)).deep.equal({ name: 'toolsInAnyOrder', score: 1 })
  })

  it('schema names what does not match', () => {
    const score = (output: string) => schema(Type.Object({ total: Type.Number() }))(given({ output }))
    expect(score('{"total": 3}')).deep.equal({ name: 'schema', score: 1 })
    const problems = ['total must be a number.']
    expect(score('{"total": "3"}')).deep.equal({ name: 'schema', score: 0, metadata: { problems } })
    expect(score('three')).deep.equal({ name: 'schema', score: 0, metadata: { problems: ['The answer is no JSON.'] } })
  })

  it('latency, tokens and cost give less beyond their limit', () => {
    const run = { durationMs: 200, inputTokens: 60, outputTokens: 40, cost: 0.02 }
    expect(latency({ maxMs: 200 })(given({ run }))).deep.equal({
      name: 'latency',
      score: 1,
      metadata: { value: 200, max: 200 },
    })
    expect(latency({ maxMs: 100 })(given({ run }))).include({ score: 0.5 })
    expect(latency({ maxMs: 100 })(given({ run: { ...run, isPlayed: true } }))).equal(null)
    expect(tokens({ max: 25 })(given({ run }))).include({ name: 'tokens', score: 0.25 })
    expect(cost({ maxUsd: 0.01 })(given({ run }))).include({ name: 'cost', score: 0.5 })
    expect(() => cost({ maxUsd: 1 })(given({ run: { ...run, cost: null } }))).throw('prices.yml')
  })
})
