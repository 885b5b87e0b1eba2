import { expect } from 'chai'
import { Type } from 'typebox'
import { findFirstProblem } from '../../src/definition/first-problem.ts'
import { measureCpuTime } from '../support/cpu-time.ts'

const Part = Type.Union([
  Type.Object({ type: Type.Literal('text'), text: Type.String() }),
  Type.Object({ type: Type.Literal('image'), image: Type.Object({ url: Type.String() }) }),
])
const optional = Type.Optional
const Item = Type.Object({
  role: optional(Type.Union([Type.Union([Type.Literal('user'), Type.Literal('tool')]), Type.Null()])),
  content: optional(Type.Union([Type.Union([Type.String(), Type.Array(Part)]), Type.Null()])),
})
const Pairs = Type.Intersect([
  Type.Object({}, { maxProperties: 2 }),
  Type.Record(Type.String(), Type.String(), { propertyNames: { maxLength: 3 } }),
])
const schema = Type.Object({
  pairs: optional(Type.Union([Pairs, Type.Null()])),
  input: Type.Union([Type.String(), Type.Array(Item)]),
  names: optional(Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String(), { minItems: 1 })])),
  mode: optional(Type.Union([Type.Literal('a'), Type.Literal('b'), Type.Array(Type.String())])),
  limit: optional(Type.Union([Type.Integer({ minimum: 1, maximum: 9 }), Type.Null()])),
})

describe('findFirstProblem', () => {
  const cases: [title: string, value: unknown, message: string | undefined][] = [
    ['nothing for a value that fits', { input: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }, undefined],
    ['a field that is missing', {}, 'input is missing.'],
    ['a union that no alternative is meant by', { input: 1 }, 'input must be a string or an array.'],
    ['an empty list of a union', { input: '', names: [] }, 'names must not be empty.'],
    ['an empty text of a union', { input: '', names: '' }, 'names must not be empty.'],
    ['a text that is none of several', { input: '', mode: 'c' }, "mode must be one of 'a' and 'b', or an array."],
    [
      'a field within a list of a union',
      { input: [{}, { role: 'usr' }] },
      "input[1].role must be one of 'user' and 'tool', or null.",
    ],
    [
      'a scalar out of the range of its union',
      { input: '', limit: 0 },
      'limit must be a whole number from 1 to 9 or null.',
    ],
    [
      'a field of the object that the constant of a union picks',
      { input: [{ content: [{ type: 'image', image: {} }] }] },
      'input[0].content[0].image.url is missing.',
    ],
    [
      'a constant that picks none',
      { input: [{ content: [{ type: 'sound' }] }] },
      "input[0].content[0].type must be one of 'text' and 'image'.",
    ],
    ['a constant that is missing', { input: [{ content: [{}] }] }, 'input[0].content[0].type is missing.'],
    [
      'the first of several rules',
      { input: '', pairs: { a: 1, b: 2, long: 3 } },
      'pairs must not have more than 2 properties.',
    ],
    ['a part that a later rule forbids', { input: '', pairs: { a: 1 } }, 'pairs.a must be a string.'],
    [
      'a key that a later rule forbids',
      { input: '', pairs: { long: '' } },
      'pairs.long must not have more than 3 characters.',
    ],
    [
      'the first of many',
      { input: Array(50).fill({ role: 1 }) },
      "input[0].role must be one of 'user' and 'tool', or null.",
    ],
    ['the value itself', [], 'It must be an object.'],
  ]
  for (const [title, value, message] of cases) {
    it(`reports ${title}`, () => expect(findFirstProblem(schema, value)?.message).to.equal(message))
  }

  it('is fast for bodies of any size', () => {
    const many = (last: object) => [...Array.from({ length: 250_000 }, () => ({ role: 'user', content: 'x' })), last]
    const parts = [...Array.from({ length: 250_000 }, () => ({ type: 'text', text: 'x' })), { type: 'text' }]
    const values = [
      { input: many({ role: 5 }) },
      { input: many({ role: 'user' }), limit: 0 },
      { input: [{ content: parts }] },
      { ...Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, [n]])), input: 5 },
    ]
    for (const value of values) {
      const spentMs = measureCpuTime()
      expect(findFirstProblem(schema, value)?.message).to.match(/^(input|limit)/)
      expect(spentMs()).to.be.below(1000)
    }
  })
})
