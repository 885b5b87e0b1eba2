import { expect } from 'chai'
import { hidePieces } from '../../src/redaction/hide-pieces.ts'
import { makeRedact } from '../../src/redaction/redact.ts'
import { StreamedSecrets } from '../../src/redaction/streamed-secrets.ts'
import { measureCpuTime } from '../support/cpu-time.ts'

const KEY = 'abcab-the-key'
const OTHER = 'abcd-of-another'

/** The text in pieces of a length, as they are shown. */
function shown(text: string, size: number, secrets = new StreamedSecrets([KEY, OTHER])): string[] {
  const pieces = text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []
  return pieces.map((piece) => secrets.next('run', 'respondText', piece))
}

describe('StreamedSecrets', () => {
  for (const size of [1, 2, 7, 100]) {
    it(`hides secrets in pieces of ${size} characters, of which the first three may be shown`, () => {
      const text = shown(`My key is ${KEY}${KEY}, his ${OTHER}; abcabcab-the-key too.`, size).join('')
      expect(text.replace(/(abc)+(?=\[)/g, '')).equal('My key is [redacted][redacted], his [redacted]; [redacted] too.')
    })

    it(`shows texts in pieces of ${size} characters whole that only begin like a secret`, () => {
      const text = 'abc, abca, abcab-the, abcd-of, abcab-the-kez'
      expect(shown(`${text}.`, size).join('')).equal(`${text}.`)
    })
  }

  it('leaves pieces as they are that have nothing of a secret', () => {
    expect(shown('a word, and abc more', 3)).deep.equal(['a w', 'ord', ', a', 'nd ', 'abc', ' mo', 're'])
  })

  it('takes linear time where a piece repeats a secret, as a client can repeat its key', () => {
    const spentMs = measureCpuTime()
    const [all] = shown(`${KEY} `.repeat(50_000), 1_000_000)
    expect(all).equal('[redacted] '.repeat(50_000))
    expect(spentMs()).lessThan(1000)
  })

  it('keeps texts and runs apart', () => {
    const secrets = new StreamedSecrets([KEY])
    expect(secrets.next('one', 'respondText', KEY.slice(0, 8))).equal('abc')
    expect(secrets.next('one', 'respondReasoning', KEY.slice(8))).equal(KEY.slice(8))
    expect(secrets.next('two', 'respondText', KEY.slice(8))).equal(KEY.slice(8))
    expect(secrets.next('one', 'respondText', KEY.slice(8))).equal('[redacted]')
    secrets.next('one', 'respondText', KEY.slice(0, 8))
    secrets.forget('one')
    expect(secrets.next('one', 'respondText', KEY.slice(8))).equal(KEY.slice(8))
  })
})

describe('hidePieces', () => {
  const redact = makeRedact({ VENDOR_API_KEY: KEY })

  it('puts the whole text into the first part, of texts that have a secret in pieces alone', () => {
    const parts = [
      { type: 'reasoning', text: `it is ${KEY}` },
      { type: 'text', text: 'ab', blockId: 1 },
      { type: 'reasoning', text: '.' },
      { type: 'text', text: 'cab-the-key' },
      { type: 'finish' },
    ]
    expect(hidePieces(parts, redact)).deep.equal([
      parts[0],
      { type: 'text', text: '[redacted]', blockId: 1 },
      parts[2],
      { type: 'text', text: '' },
      parts[4],
    ])
    expect(hidePieces(parts.slice(2), redact)).deep.equal(parts.slice(2))
  })
})
