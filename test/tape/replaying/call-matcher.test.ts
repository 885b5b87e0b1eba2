import { expect } from 'chai'
import type { TapedCall, TapedRun } from '../../../src/tape/file/read-tape.ts'
import type { JsonValue } from '../../../src/tape/file/tape-values.ts'
import { type AskedCall, CallMatcher } from '../../../src/tape/replaying/call-matcher.ts'
import { STORAGE } from '../../../src/wiring/wiring.ts'

const id = (digit: number) => `${digit}0000000-0000-4000-8000-000000000000`

const ask = (method: string, args: JsonValue[], more: Partial<AskedCall> = {}): AskedCall => ({
  module: 'tools',
  caller: 'loop',
  protocol: 'ToolProvider',
  method,
  arguments: args,
  ...more,
})

/** Recorded calls, each with what came of it. */
function record(...calls: readonly (readonly [AskedCall, JsonValue?])[]): TapedCall[] {
  return calls.map(([asked, value], index) => ({
    line: { type: 'call', call: index + 1, within: null, ms: 0, ...asked },
    at: index * 2,
    steps: value === undefined ? [] : [{ at: index * 2 + 1, read: () => ({ type: 'result', value }) }],
  })) as unknown as TapedCall[]
}

const match = (calls: readonly TapedCall[], turn: object = {}) => new CallMatcher({ turn, calls } as TapedRun, calls)
const numberOf = (call: TapedCall | undefined) => call?.line.call

describe('CallMatcher', () => {
  it('takes equal calls in their order, each once', () => {
    const matcher = match(record([ask('a', [1])], [ask('a', [1])], [ask('b', [1])]))
    expect([1, 2, 3].map(() => numberOf(matcher.take(ask('a', [1]))))).to.deep.equal([1, 2, undefined])
    expect([...matcher.left].map(numberOf)).to.deep.equal([3])
  })

  it('tells calls apart by module, method and arguments, however their keys are ordered', () => {
    const matcher = match(record([ask('a', [{ x: 1, y: [{ p: 1, q: 2 }] }])]))
    const other = [
      ask('a', [{ x: 1, y: [{ p: 1, q: 3 }] }]),
      ask('a', [{ x: 1, y: [{ p: 1, q: 2 }] }], { module: 'more' }),
      ask('b', [{ x: 1, y: [{ p: 1, q: 2 }] }]),
      ask('a', [{ x: 1, y: [{ p: 1, q: 2 }] }, null]),
    ]
    for (const call of other) expect(matcher.take(call)).to.equal(undefined)
    expect(numberOf(matcher.take(ask('a', [{ y: [{ q: 2, p: 1 }], x: 1 }])))).to.equal(1)
  })

  it('takes calls of the storage of one module for that module alone; of others the caller does not count', () => {
    const storage = { module: STORAGE, caller: 'memory' }
    const matcher = match(record([ask('get', ['k'], storage)], [ask('get', ['k'])]))
    expect(matcher.take(ask('get', ['k'], { ...storage, caller: 'notes' }))).to.equal(undefined)
    expect(numberOf(matcher.take(ask('get', ['k'], storage)))).to.equal(1)
    expect(numberOf(matcher.take(ask('get', ['k'], { caller: 'another' })))).to.equal(2)
  })

  it('takes ids that the run made itself as equal by their place, and the same one again from then on', () => {
    const matcher = match(record([ask('put', [id(1), 'a'])], [ask('get', [id(1)])], [ask('get', [id(2)])]))
    expect(numberOf(matcher.take(ask('put', [id(7), 'a'])))).to.equal(1)
    expect(matcher.take(ask('get', [id(8), id(8)]))).to.equal(undefined)
    expect(numberOf(matcher.take(ask('get', [id(7)])))).to.equal(2)
    expect(numberOf(matcher.take(ask('get', [id(8)])))).to.equal(3)
    expect(matcher.rename(`${id(1)}, ${id(2)}, ${id(3)}`)).to.equal(`${id(7)}, ${id(8)}, ${id(3)}`)
  })

  it('takes an id that the turn, or an answer, has brought for itself alone', () => {
    const calls = record([ask('look', []), [id(2)]], [ask('get', [id(1)])], [ask('get', [id(2)])])
    const matcher = match(calls, { messages: [id(1)] })
    expect(matcher.take(ask('get', [id(7)]))).to.equal(undefined)
    expect(matcher.rename(id(1))).to.equal(id(1))
    expect(numberOf(matcher.take(ask('get', [id(2)])))).to.equal(3)
    expect(numberOf(matcher.take(ask('get', [id(1)])))).to.equal(2)
  })

  it('keeps nothing of a call that matches in its ids alone', () => {
    const matcher = match(record([ask('put', [id(1), { [id(1)]: 1 }])]))
    for (const args of [
      [id(7), { [id(8)]: 1 }],
      [id(7), { '*': 1 }],
    ])
      expect(matcher.take(ask('put', args))).to.equal(undefined)
    expect(matcher.rename(id(1))).to.equal(id(1))
    expect(numberOf(matcher.take(ask('put', [id(7), { [id(7)]: 1 }])))).to.equal(1)
  })

  it('takes the next call of a method whatever its arguments, before a call; a tool by its name', () => {
    const calls = record(
      [ask('executeTool', ['pay', { n: 1 }])],
      [ask('executeTool', ['note', { n: 1 }])],
      [ask('get', ['a'])],
      [ask('get', ['b'])],
    )
    const matcher = match(calls)
    const note = ask('executeTool', ['note', { n: 9 }])
    for (const more of [{ module: 'other' }, { caller: 'other' }, { method: 'other' }])
      expect(matcher.takeNext({ ...note, ...more }, 9)).to.equal(undefined)
    expect(matcher.takeNext(note, 2)).to.equal(undefined)
    expect(numberOf(matcher.takeNext(note, 3))).to.equal(2)
    expect(matcher.takeNext(note, 9)).to.equal(undefined)
    expect(matcher.take(ask('executeTool', ['note', { n: 1 }]))).to.equal(undefined)
    expect(numberOf(matcher.takeNext(ask('get', ['z']), 9))).to.equal(3)
    expect(numberOf(matcher.take(ask('get', ['b'])))).to.equal(4)
    expect([...matcher.left].map(numberOf)).to.deep.equal([1])
  })

  it('names the nearest call of the method, otherwise the first that is left', () => {
    const storage = { module: STORAGE, caller: 'memory' }
    const calls = record(
      [ask('get', [{ a: 1, b: 1 }])],
      [ask('put', [{ a: 1, b: 2, c: 3 }])],
      [ask('put', [{ a: 1, b: 2, c: 4 }])],
      [ask('put', [{ a: 1, b: 2, c: 5 }], { module: 'more' })],
      [ask('put', [{ a: 1, b: 2, c: 5 }], storage)],
    )
    const matcher = match(calls)
    const nearest = (call: AskedCall) => numberOf(matcher.nearest(call))
    expect(nearest(ask('put', [{ a: 1, b: 9, c: 4 }]))).to.equal(3)
    expect(nearest(ask('put', [{ a: 1, b: 2, c: 5 }]))).to.equal(2)
    expect(nearest(ask('put', [{ a: 1, b: 2, c: 5 }], { caller: 'another' }))).to.equal(2)
    expect(nearest(ask('put', [0], { module: 'more' }))).to.equal(4)
    expect(nearest(ask('put', [0], storage))).to.equal(5)
    expect(nearest(ask('put', [0], { ...storage, caller: 'notes' }))).to.equal(1)
    expect(nearest(ask('drop', []))).to.equal(1)
    expect(match([]).nearest(ask('drop', []))).to.equal(undefined)
  })
})
