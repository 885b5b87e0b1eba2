import { expect } from 'chai'
import { findLostReference } from '../../../src/run/checks/lost-reference.ts'

describe('references of a schema', () => {
  const find = (schema: Record<string, unknown>) => findLostReference(schema)

  it('lead somewhere, or are found', () => {
    expect(find({ properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: { items: { $ref: '#' } } } })).to.equal(
      undefined,
    )
    expect(find({ anyOf: [{ $ref: '#/anyOf/1' }, true] })).to.equal(undefined)
    expect(find({ $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': {} } })).to.equal(undefined)
    expect(find({ items: { anyOf: [{}, { $ref: '#/$defs/B' }] }, $defs: { A: {} } })).to.equal('#/$defs/B')
    expect(find({ $ref: 'https://example.test/schema.json' })).to.equal('https://example.test/schema.json')
    expect(find({ $ref: '#/toString' })).to.equal('#/toString')
    expect(find({ $ref: '#/%' })).to.equal('#/%')
  })

  it('are found in a schema that holds itself', () => {
    const schema: Record<string, unknown> = { $defs: {}, items: { $ref: '#/$defs/B' } }
    schema.not = schema
    expect(find(schema)).to.equal('#/$defs/B')
  })

  it('are not looked for in data, in names of properties, and beside an $id', () => {
    expect(find({ properties: { $ref: { type: 'string' } }, default: { $ref: '#/nowhere' } })).to.equal(undefined)
    expect(find({ $ref: 'other.json', $defs: { A: { $id: 'https://example.test/other.json' } } })).to.equal(undefined)
  })
})
