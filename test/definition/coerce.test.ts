import { expect } from 'chai'
import { Type } from 'typebox'
import { coerce } from '../../src/definition/check-arguments.ts'

describe('coerce', () => {
  const cases: [schema: object, given: unknown, expected: unknown][] = [
    [{ type: 'number' }, '1.5', 1.5],
    [{ type: 'integer' }, ' 7 ', 7],
    [{ type: 'number' }, 'x', 'x'],
    [{ type: 'number' }, '', ''],
    [{ type: 'number' }, 'Infinity', 'Infinity'],
    [{ type: 'boolean' }, 'true', true],
    [{ type: 'boolean' }, 'yes', 'yes'],
    [{ type: 'string' }, 5, '5'],
    [{ type: 'string' }, '5', '5'],
    [{ type: ['number', 'null'] }, '5', 5],
    [{ anyOf: [{ type: 'null' }, { type: 'integer' }] }, '5', 5],
    [{ anyOf: [{ type: 'string' }, { type: 'integer' }] }, '5', '5'],
    [{}, '5', '5'],
    [{ type: 'number' }, null, null],
    [
      Type.Object({ a: Type.Number(), b: Type.Array(Type.Boolean()) }),
      { a: '1', b: ['false'], c: '1' },
      { a: 1, b: [false], c: '1' },
    ],
  ]
  it('copies every level: defaults that are filled in later are not those of the caller', () => {
    const schema = { anyOf: [{ type: 'object' }, { type: 'null' }], properties: { known: { items: {} } } }
    const given = { known: [{ a: {} }], other: { b: [[{}]] } }
    const copy = coerce(schema, given) as typeof given
    expect(copy).to.deep.equal(given)
    const parts = ({ known, other }: typeof given) => [known, known[0], known[0]?.a, other, other.b, other.b[0]?.[0]]
    for (const part of parts(copy)) expect(parts(given)).to.not.include(part)
  })

  for (const [schema, given, expected] of cases) {
    it(`converts ${JSON.stringify(given)} to ${JSON.stringify(expected)} for ${JSON.stringify(schema)}`, () => {
      expect(coerce(schema, given)).to.deep.equal(expected)
    })
  }
})
