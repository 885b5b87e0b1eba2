import { HostError } from 'agent-host'
import { expect } from 'chai'
import {
  decodeError,
  decodeValue,
  encodeError,
  encodeToWrite,
  encodeValue,
} from '../../../src/tape/file/tape-values.ts'

const kept = new Map<string, Uint8Array>()
const keep = (sha256: string, bytes: Uint8Array) => void kept.set(sha256, bytes)
const find = (sha256: string) => kept.get(sha256) ?? new Uint8Array()
/** The value after a tape. */
const taped = (value: unknown) => decodeValue(JSON.parse(JSON.stringify(encodeValue(value, keep))), find)

describe('values of a tape', () => {
  const VALUES: Readonly<Record<string, unknown>> = {
    'JSON as it is': { a: [1, 'two', null, true, { b: [] }], c: {} },
    'numbers that JSON lacks': [Number.NaN, Number.POSITIVE_INFINITY, -0, 1n],
    'undefined in a list': [undefined, 1],
    'names that begin with $': { $date: 'x', deeper: { $undefined: true } },
    'a name that objects inherit': JSON.parse('{"__proto__":{"a":1}}'),
    'collections, dates and addresses': {
      seen: new Map([['a', new Set([1])]]),
      at: new Date(5),
      url: new URL('http://a/b'),
    },
    'bytes and vectors': { data: new Uint8Array([1, 2]), vector: new Float32Array([0.5]) },
  }
  for (const [name, value] of Object.entries(VALUES)) {
    it(`come back whole: ${name}`, () => {
      expect(taped(value)).deep.equal(value)
      expect(JSON.stringify(encodeToWrite(value, keep))).equal(JSON.stringify(encodeValue(value, keep)))
    })
  }

  it('are named where a tape cannot hold them: functions in lists, circles, what cannot be read', () => {
    const parent: { name: string; children: unknown[] } = { name: 'root', children: [] }
    // Each way down leads to the top again: following them all would never end.
    parent.children = [1, 2, 3].map((id) => ({ id, parent }))
    expect(encodeToWrite(parent, keep)).deep.equal({
      name: 'root',
      children: [1, 2, 3].map((id) => ({ id, parent: { $opaque: 'a circle' } })),
    })
    const unreadable = Object.defineProperty({}, 'a', {
      enumerable: true,
      get: () => {
        throw new Error('no')
      },
    })
    expect(encodeToWrite([unreadable, () => 1], keep)).deep.equal([
      { $opaque: 'unreadable: no' },
      { $opaque: 'function ' },
    ])
    const nested = JSON.parse('['.repeat(300) + ']'.repeat(300))
    expect(JSON.stringify(encodeToWrite(nested, keep))).include('{"$opaque":"nested too deep"}')
    expect(() => decodeValue({ $opaque: 'a circle' }, find)).throws(
      'it has a value that a tape cannot hold (a circle).',
    )
  })

  it('that are the same object twice are no circle', () => {
    const same = { a: 1 }
    expect(taped({ first: same, second: [same] })).deep.equal({ first: { a: 1 }, second: [{ a: 1 }] })
    expect(encodeToWrite([same, same], keep)).deep.equal([{ a: 1 }, { a: 1 }])
  })

  it('errors keep their code, fields and causes, which may go in circles', () => {
    const cause = Object.assign(new TypeError('inner'), { status: 418 })
    const error = new HostError('AGENT_NOT_FOUND', 'gone', { cause })
    const back = decodeError(JSON.parse(JSON.stringify(encodeError(error, keep))), find) as HostError
    expect(back).instanceOf(HostError).and.include({ code: 'AGENT_NOT_FOUND', message: 'gone' })
    expect(back.cause).include({ name: 'TypeError', message: 'inner', status: 418 })
    cause.cause = error
    expect(encodeError(error, keep)).nested.property('cause.message', 'inner')
    expect(encodeError(error, keep)).not.nested.property('cause.cause')
  })
})
