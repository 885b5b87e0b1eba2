import { expect } from 'chai'
import { makeRedact } from '../../../src/redaction/redact.ts'
import { writePayload } from '../../../src/trace/files/payload.ts'

const plain = (text: string) => text
const copyOf = (value: unknown, redact = plain): unknown => JSON.parse(writePayload(value, redact))

describe('writePayload', () => {
  it('writes plain values as they are', () => {
    const value = { text: 'ä"\n', list: [1, true, null], deep: { a: { b: 'c' } }, date: new Date(0) }
    expect(copyOf(value)).deep.equal({ ...value, date: '1970-01-01T00:00:00.000Z' })
  })

  it('describes values that cannot be serialized', () => {
    const circle: Record<string, unknown> = { name: 'a' }
    circle.self = circle
    const value = {
      circle,
      bytes: new Uint8Array(3),
      error: new TypeError('no'),
      big: 10n,
      not: Number.NaN,
      map: new Map([['k', 1]]),
      set: new Set([1]),
      act: function named() {},
      gone: undefined,
      get bad() {
        throw new Error('secretly')
      },
      json: { toJSON: () => ({ run: 'r1' }) },
    }
    expect(copyOf(value)).deep.equal({
      circle: { name: 'a', self: '[circular]' },
      bytes: '[3 bytes]',
      error: { name: 'TypeError', message: 'no' },
      big: '10',
      not: 'NaN',
      map: { k: 1 },
      set: [1],
      act: '[function named]',
      bad: '[unreadable: secretly]',
      json: { run: 'r1' },
    })
  })

  it('keeps small pictures as they are seen, and counts the bytes of large ones and of other files', () => {
    const attachmentOf = (mediaType: string, size: number) => ({ mediaType, data: new Uint8Array(size), name: 'a' })
    const small = copyOf(attachmentOf('image/png', 3))
    expect(small).deep.equal({ mediaType: 'image/png', data: 'data:image/png;base64,AAAA', name: 'a' })
    expect(copyOf(attachmentOf('image/svg+xml', 3))).deep.equal({
      mediaType: 'image/svg+xml',
      data: '[3 bytes]',
      name: 'a',
    })
    const two = copyOf([attachmentOf('image/png', 100_000), attachmentOf('image/png', 100_000), { text: 'stays' }])
    const [first, second, text] = two as { data: string }[]
    expect([first?.data.length, second?.data, text]).deep.equal([133_358, '[100000 bytes]', { text: 'stays' }])
  })

  it('redacts values of fields with secret names', () => {
    const value = { api_key: 'abc', credentials: { user: 'ada', list: ['x', 3] }, max_tokens: 5, note: 'stays' }
    expect(copyOf(value)).deep.equal({
      api_key: '[redacted]',
      credentials: { user: '[redacted]', list: ['[redacted]', 3] },
      max_tokens: 5,
      note: 'stays',
    })
  })

  it('truncates long texts and states their length', () => {
    expect(copyOf('x'.repeat(12_000))).equal(`${'x'.repeat(10_000)}… [cut: 12000 characters]`)
    expect(copyOf(['y'.repeat(10_000)])).deep.equal(['y'.repeat(10_000)])
  })

  it('leaves no part of a secret where it truncates', () => {
    const redact = makeRedact({ MY_TOKEN: 'canary-0123456789' })
    const text = `${'x'.repeat(9_992)}canary-0123456789${'y'.repeat(9_000)}`
    const written = writePayload(text, redact)
    expect(written).not.contain('canary-')
    expect(written).contain(`[cut: ${text.length} characters]`)
  })

  it('leaves no half of a secret where others before it made the text shorter', () => {
    const redact = makeRedact({ MY_TOKEN: 'canary-0123456789' })
    for (let space = 0; space < 30; space++)
      expect(writePayload(' '.repeat(space) + 'canary-0123456789 said '.repeat(1000), redact)).not.contain('can')
  })

  it('keeps the beginning and the end of long lists', () => {
    const copy = copyOf(Array.from({ length: 5000 }, (_, index) => index)) as unknown[]
    expect(copy).lengthOf(1001)
    expect([copy[0], copy[899], copy[900], copy[901], copy[1000]]).deep.equal([
      0,
      899,
      '… [cut: 5000 items]',
      4900,
      4999,
    ])
  })

  it('is limited in size for any value', () => {
    const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`name${n}`, 'v'.repeat(50)]))
    let deep: unknown = 'end'
    for (let level = 0; level < 10_000; level++) deep = [deep]
    const many = Array.from({ length: 1000 }, () => 'z'.repeat(9_000))
    for (const value of [wide, deep, many]) expect(writePayload(value, plain).length).lessThan(400_000)
  })

  it('is limited in size for values without long texts', () => {
    const matrix = (rows: number, columns: number, valueOf: (n: number) => unknown) =>
      new Array(rows).fill(Array.from({ length: columns }, (_, n) => valueOf(n)))
    const circle: unknown[] = []
    circle.push(...matrix(1000, 1000, () => circle))
    const long = matrix(2000, 2000, Math.sqrt)
    const values = {
      numbers: matrix(1000, 1000, Math.sqrt),
      vectors: matrix(64, 1536, Math.sqrt),
      long: [long, long, long],
      lists: matrix(1000, 1000, () => []),
      objects: matrix(1000, 1000, () => ({})),
      nulls: matrix(1000, 1000, () => null),
      gone: matrix(1000, 1000, () => undefined),
      flags: matrix(1000, 1000, () => false),
      empty: matrix(1000, 1000, () => ''),
      secrets: { password: matrix(1000, 1000, () => 'abc') },
      circle,
      bytes: matrix(1000, 1000, () => new Uint8Array()),
      digits: matrix(100, 100, () => 10n ** 1000n),
      names: matrix(1000, 10, (n) => ({ [`${n}`.repeat(1000)]: 1 })),
    }
    for (const [name, value] of Object.entries(values)) {
      const { length } = writePayload(value, plain)
      expect([name, length > 150_000 && length < 210_000, length]).deep.equal([name, true, length])
    }
  })

  it('says where a list is cut, and keeps the end of a long one whatever its beginning takes', () => {
    const short = copyOf(Array.from({ length: 1000 }, () => 'z'.repeat(1000))) as unknown[]
    expect([short.length, short.at(-1)]).deep.equal([201, '… [cut: 1000 items]'])
    const long = copyOf([
      ...Array.from({ length: 2000 }, () => 'z'.repeat(1000)),
      ...'usage'.padStart(100),
    ]) as unknown[]
    expect([long.length < 400, long.slice(-100).join('').trim()]).deep.equal([true, 'usage'])
  })
})
