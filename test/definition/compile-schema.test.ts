import { compileSchema, makeArgumentCheck, Type } from 'agent-host'
import { expect } from 'chai'

describe('compileSchema', () => {
  const { problems } = compileSchema(
    Type.Object({
      n: Type.Number({ minimum: 0 }),
      place: Type.Object({ zip: Type.Integer() }),
      size: Type.Union([Type.Literal('s'), Type.Literal('l')]),
    }),
  )

  it('reports each problem once, in the words of a request that does not fit', () => {
    expect(problems({ n: 'x', place: { zip: 1.5 }, size: 'm', more: true }, 'the answer')).deep.equal([
      'n must be a number of at least 0.',
      'place.zip must be a whole number.',
      "size must be one of 's' and 'l'.",
    ])
    expect(problems({ n: 1, size: 's' }, 'the answer')).deep.equal(['place is missing.'])
  })

  it('names keys that are not allowed, and what those must be that may have any name', () => {
    const closed = compileSchema(Type.Object({ target: Type.String() }, { additionalProperties: false }))
    expect(closed.problems({ target: 'a', ref: 'b' }, 'the answer')).deep.equal(["The key 'ref' is not known."])
    const open = compileSchema(Type.Object({}, { additionalProperties: Type.Number() }))
    expect(open.problems({ any: 'b' }, 'the answer')).deep.equal(['any must be number.'])
    expect(compileSchema({ properties: { no: false } }).problems({ no: 1 }, 'it')).deep.equal([
      "The key 'no' is not known.",
    ])
  })

  it('names the value as a whole as the caller does', () => {
    expect(problems('hi', 'the answer')).deep.equal(['the answer must be an object.'])
  })
})

describe('makeArgumentCheck', () => {
  it('ends where references multiply', () => {
    const $defs: Record<string, object> = { d14: { type: 'string' } }
    for (let depth = 0; depth < 14; depth++) {
      const next = { $ref: `#/$defs/d${depth + 1}` }
      $defs[`d${depth}`] = { anyOf: [next, next] }
    }
    const check = makeArgumentCheck('find', { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs })
    expect(() => check({ a: 1 })).to.throw("Wrong arguments for 'find': their check takes longer than 200 ms.")
  })

  for (const keyword of ['$dynamicRef', '$recursiveRef']) {
    it(`ends where references by ${keyword} multiply`, () => {
      const item = { properties: { a: { [keyword]: '#' } } }
      const check = makeArgumentCheck('find', { type: 'object', anyOf: [item, item], required: ['x'] })
      let value: object = { a: 1 }
      for (let depth = 0; depth < 18; depth++) value = { a: value }
      expect(() => check(value)).to.throw("Wrong arguments for 'find': their check takes longer than 200 ms.")
    })
  }
})
