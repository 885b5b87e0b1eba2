import { expect } from 'chai'
import { simpleSchema } from '../../../modules/llm/lib/simple-schema.ts'
import { isStrictSchema } from '../../../modules/llm/lib/strict-schema.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'

describe('the schema of a client, of the size of a request', () => {
  const names = Array.from({ length: 60_000 }, (_, index) => `p${index}`)
  const properties = Object.fromEntries(names.map((name) => [name, {}]))
  const whole = { type: 'object', properties, required: names, additionalProperties: false }

  it('is strict or not, which takes a moment to see', () => {
    const spentMs = measureCpuTime()
    expect(isStrictSchema(whole)).to.equal(true)
    expect(isStrictSchema({ ...whole, required: names.slice(1) })).to.equal(false)
    const named = { required: { type: 'string' } }
    expect(isStrictSchema({ ...whole, properties: named, required: ['required'] })).to.equal(true)
    expect(spentMs()).to.be.below(1000)
  })

  it('becomes a simple one in a moment', () => {
    const spentMs = measureCpuTime()
    const ways = simpleSchema({ anyOf: [whole, { ...whole, required: [...names].reverse() }] })
    expect(ways.required).to.deep.equal(names)
    const branches = names.map((_, index) => ({ properties: { a: { const: index } } }))
    const { a } = simpleSchema({ anyOf: branches }).properties as { a: { anyOf: object[] } }
    expect(a.anyOf).to.have.lengthOf(names.length)
    const $ref = '#/$defs/whole'
    const parts = simpleSchema({ allOf: names.slice(0, 1000).map(() => ({ $ref })), $defs: { whole } })
    expect(parts.required).to.deep.equal(names)
    expect(spentMs()).to.be.below(1500)
  })
})
