import { expect } from 'chai'
import { describeDifferences } from '../../../src/tape/replaying/describe-differences.ts'

describe('describeDifferences', () => {
  it('finds none in equal values', () => {
    const value = { a: [1, { b: null }], c: 'x' }
    expect(describeDifferences(value, structuredClone(value))).to.deep.equal([])
    expect(describeDifferences(undefined, undefined)).to.deep.equal([])
  })

  it('names what differs by its path, also what one of both lacks', () => {
    const recorded = { messages: [{ content: 'a' }, { content: 'b' }], gone: 1, same: true }
    const asked = { messages: [{ content: 'a' }, { content: 'c' }], same: true, added: null }
    expect(describeDifferences(recorded, asked)).to.deep.equal([
      'messages[1].content: recorded "b", asked "c"',
      'gone: recorded 1, asked nothing',
      'added: recorded nothing, asked null',
    ])
  })

  it('compares no list with an object, and nothing with null', () => {
    expect(describeDifferences({ a: ['x'] }, { a: { 0: 'x' } })).to.deep.equal(['a: recorded ["x"], asked {"0":"x"}'])
    expect(describeDifferences([null], [{}], 'at')).to.deep.equal(['at[0]: recorded null, asked {}'])
    expect(describeDifferences(['a'], ['b'])).to.deep.equal(['[0]: recorded "a", asked "b"'])
  })

  it('shows sixty characters of a long text, from a little before the place where it differs', () => {
    const start = 'abcdefghij'.repeat(10)
    const end = 'klmnopqrst'.repeat(10)
    const shown = (digit: number) => `…abcdefghijabcdefghij${digit}klmnopqrstklmnopqrstklmnopqrstklmnopqrs…`
    expect(describeDifferences(`${start}1${end}`, `${start}2${end}`, 'text')).to.deep.equal([
      `text: recorded ${shown(1)}, asked ${shown(2)}`,
    ])
  })

  it('shows the beginning of one that differs there, and the end of one that ends there', () => {
    const long = 'x'.repeat(100)
    expect(describeDifferences(`1${long}`, '2', 'text')).to.deep.equal([
      `text: recorded "1${'x'.repeat(58)}…, asked "2"`,
    ])
    expect(describeDifferences(long, `${long}y`, 'text')).to.deep.equal([
      `text: recorded …${'x'.repeat(59)}", asked …${'x'.repeat(58)}y"`,
    ])
  })

  it('shows a text of sixty characters whole', () => {
    const text = 'x'.repeat(58)
    expect(describeDifferences(text, 1, 'text')).to.deep.equal([`text: recorded "${text}", asked 1`])
  })
})
