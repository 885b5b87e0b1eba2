import { expect } from 'chai'
import type { TapedCall } from '../../../src/tape/file/read-tape.ts'
import { type Divergence, describeDivergence, divergenceAt } from '../../../src/tape/replaying/divergence.ts'

const call = (method: string, args: unknown[], number = 2, module = 'tools') =>
  ({ line: { call: number, module, method, arguments: args }, at: 0, steps: [] }) as unknown as TapedCall
const asked = (method: string, args: unknown[], module = 'tools') =>
  call(method, args, 0, module).line as Parameters<typeof divergenceAt>[1]

const lines = (...given: Parameters<typeof divergenceAt>) => describeDivergence(divergenceAt(...given))

describe('a divergence', () => {
  it('names the arguments of known methods, counts on from the runs before, and compares calls of one method', () => {
    const recorded = call('executeTool', ['refund', { order: 6 }])
    expect(divergenceAt('r1', asked('executeTool', ['refund', { order: 7 }, 'more']), recorded, 10)).to.deep.equal({
      runId: 'r1',
      kind: 'call',
      asked: {
        number: null,
        module: 'tools',
        method: 'executeTool',
        arguments: { name: 'refund', arguments: { order: 7 }, 'argument 3': 'more' },
      },
      recorded: {
        number: 12,
        module: 'tools',
        method: 'executeTool',
        arguments: { name: 'refund', arguments: { order: 6 } },
      },
      differences: ['arguments.order: recorded 6, asked 7', 'argument 3: recorded nothing, asked "more"'],
    })
  })

  it('names the call and what differs', () => {
    expect(
      lines('r1', asked('executeTool', ['refund', { order: 7 }]), call('executeTool', ['refund', { order: 6 }]), 0),
    ).to.deep.equal(['Call 2 differs: tools: refund({"order":7})', '  arguments.order: recorded 6, asked 7'])
    expect(lines('r1', asked('needsApproval', ['pay', {}]), call('needsApproval', ['buy', {}]), 0)).to.deep.equal([
      'Call 2 differs: tools: pay({})',
      '  name: recorded "buy", asked "pay"',
    ])
    expect(lines('r1', asked('ruleFor', ['pay', {}]), call('ruleFor', ['buy', {}]), 0)[0]).to.equal(
      'Call 2 differs: tools.ruleFor({"name":"pay","arguments":{}})',
    )
  })

  it('compares no calls of two methods, or of two modules', () => {
    const generate = asked('generate', [{ messages: [] }], 'llm')
    const text = 'The tape does not have this call: llm.generate({"request":{"messages":[]}})'
    expect(lines('r1', generate, call('executeTool', ['pay', {}]), 0)).to.deep.equal([
      text,
      '  Recorded as call 2: tools: pay({})',
    ])
    expect(lines('r1', generate, call('generate', [{ messages: [] }], 3, 'other'), 0)).to.deep.equal([
      text,
      '  Recorded as call 3: other.generate({"request":{"messages":[]}})',
    ])
    expect(lines('r1', asked('get', ['a', 1], 'memory'), undefined, 0)).to.deep.equal([
      'The tape has no more calls, and one is asked for: memory.get("a", 1)',
    ])
  })

  it('shows five differences, and three hundred characters of a call', () => {
    const args = (from: number) => [Array.from({ length: 7 }, (_, index) => from + index), 'x'.repeat(400)]
    const [head = '', ...rest] = lines('r1', asked('put', args(10)), call('put', args(0)), 0)
    expect(head).to.equal(
      `Call 2 differs: ${`tools.put(${JSON.stringify(args(10)[0])}, "${'x'.repeat(400)}`.slice(0, 300)}…`,
    )
    expect(rest).to.deep.equal([
      ...Array.from({ length: 5 }, (_, index) => `  [0][${index}]: recorded ${index}, asked ${index + 10}`),
      '  and 2 more',
    ])
    const whole = `tools.put("${'x'.repeat(300 - 'tools.put("")'.length)}")`
    expect(lines('r1', asked('put', [whole.slice(11, -2)]), undefined, 0)[0]?.endsWith(whole)).to.equal(true)
  })

  it('of an end, or of a call that was not made, says so', () => {
    const recorded = { number: 4, module: 'tools', method: 'executeTool', arguments: { name: 'pay', arguments: {} } }
    const of = (more: Partial<Divergence>) =>
      describeDivergence({ runId: 'r1', kind: 'end', asked: null, recorded: null, differences: ['status: x'], ...more })
    expect(of({})).to.deep.equal(['Every call matched, and the run ends differently:', '  status: x'])
    expect(of({ kind: 'missing', recorded, differences: [] })).to.deep.equal([
      'The run ended without call 4: tools: pay({})',
    ])
    expect(of({ kind: 'call' })).to.deep.equal(['  status: x'])
  })
})
