import { Type } from 'agent-host'
import { expect } from 'chai'
import { compileSchema } from '../../src/definition/compile-schema.ts'
import { fillDefaults } from '../../src/definition/fill-defaults.ts'

const SCALE = { type: 'string', enum: ['css', 'device'], default: 'css' }
const object = (properties: object, more: object = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
})

const CASES: readonly { title: string; schema: object; given: unknown; filled: unknown }[] = [
  { title: 'required properties', schema: object({ scale: SCALE }), given: {}, filled: { scale: 'css' } },
  {
    title: 'what is given stays',
    schema: object({ scale: SCALE, size: { type: ['integer', 'null'], default: 1 } }),
    given: { scale: 'device', size: null },
    filled: { scale: 'device', size: null },
  },
  {
    title: 'objects within',
    schema: object({ view: object({ scale: SCALE }), other: object({ scale: SCALE }, { default: {} }) }),
    given: { view: {} },
    filled: { view: { scale: 'css' }, other: { scale: 'css' } },
  },
  {
    title: 'items',
    schema: { type: 'array', prefixItems: [SCALE], items: object({ scale: SCALE }) },
    given: ['device', {}, {}],
    filled: ['device', { scale: 'css' }, { scale: 'css' }],
  },
  {
    title: 'references, a default beside one first',
    schema: object(
      { scale: { $ref: '#/$defs/s' }, other: { $ref: '#/$defs/s', default: 'device' } },
      { $defs: { s: SCALE } },
    ),
    given: {},
    filled: { scale: 'css', other: 'device' },
  },
  {
    title: 'all of several schemas',
    schema: { allOf: [{ type: 'object', properties: { scale: SCALE }, required: ['scale'] }] },
    given: {},
    filled: { scale: 'css' },
  },
  {
    title: 'the alternative that fits',
    schema: {
      anyOf: [
        object({ kind: { const: 'a' }, n: { type: 'integer', default: 1 } }),
        object({ kind: { const: 'b' }, scale: SCALE }),
      ],
    },
    given: { kind: 'b' },
    filled: { kind: 'b', scale: 'css' },
  },
  {
    title: 'a schema of TypeBox',
    schema: Type.Object({ n: Type.Number({ default: 7 }) }),
    given: {},
    filled: { n: 7 },
  },
]

describe('defaults of a schema', () => {
  for (const { title, schema, given, filled } of CASES) {
    it(`fill ${title}, before the value is checked`, () => {
      const compiled = compileSchema(schema)
      const value = compiled.fill(given)
      expect(value).to.deep.equal(filled)
      expect(compiled.matches(value)).to.equal(true)
    })
  }

  it('end at references that go in circles', () => {
    const $defs = { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }
    expect(fillDefaults({ properties: { n: { $ref: '#/$defs/a' } }, ...{ $defs } }, {})).to.deep.equal({})
  })
})
