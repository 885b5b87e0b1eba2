import { expect } from 'chai'
import { fieldsOf, ownValue } from '../src/json.ts'

describe('fieldsOf', () => {
  it('gives an object itself, and no fields of anything else', () => {
    const value = { a: 1 }
    expect(fieldsOf(value)).to.equal(value)
    expect([null, undefined, 'text', 7, [1]].map(fieldsOf)).to.deep.equal([{}, {}, {}, {}, {}])
  })
})

describe('ownValue', () => {
  it('gives what objects and lists have themselves', () => {
    expect(ownValue({ a: 1 }, 'a')).to.equal(1)
    expect(ownValue(['x', 'y'], 1)).to.equal('y')
    expect(ownValue({ a: 1 }, 'toString')).to.equal(undefined)
    expect(ownValue(null, 'a')).to.equal(undefined)
    expect(ownValue('text', 0)).to.equal(undefined)
  })
})
