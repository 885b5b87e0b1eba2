import { expect } from 'chai'
import { decodeText } from '../src/decode-text.ts'

function decode(bytes: Uint8Array): { text: string; warnings: string[] } {
  const warnings: string[] = []
  const text = decodeText(bytes, '.env', (message) => warnings.push(message))
  return { text, warnings }
}

const swapped = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16()

describe('decodeText', () => {
  const TEXT = 'A=ä€😀\r\n'
  const files: Record<string, Buffer> = {
    'UTF-8': Buffer.from(TEXT),
    'UTF-8 with a byte order mark': Buffer.from(`\ufeff${TEXT}`),
    'UTF-16 with a mark': Buffer.from(`\ufeff${TEXT}`, 'utf16le'),
    'UTF-16 without a mark': Buffer.from(TEXT, 'utf16le'),
    'UTF-16 with the high byte first': swapped(`\ufeff${TEXT}`),
    'UTF-16 with the high byte first, without a mark': swapped(TEXT),
  }
  for (const [title, bytes] of Object.entries(files)) {
    it(`reads ${title}`, () => {
      expect(decode(bytes)).to.deep.equal({ text: TEXT, warnings: [] })
    })
  }

  it('reads an empty file, and one of a single character', () => {
    expect(decode(Buffer.of())).to.deep.equal({ text: '', warnings: [] })
    expect(decode(Buffer.from('A'))).to.deep.equal({ text: 'A', warnings: [] })
  })

  it('warns of another encoding, with the name of the file', () => {
    const warnings = ['.env is not UTF-8 text. Save it as UTF-8.']
    expect(decode(Buffer.from('A=ä', 'latin1'))).to.deep.equal({ text: 'A=\ufffd', warnings })
  })

  it('warns of UTF-16 that was cut off', () => {
    const { text, warnings } = decode(Buffer.from('\ufeffAB', 'utf16le').subarray(0, 5))
    expect(text).to.equal('A\ufffd')
    expect(warnings).to.have.lengthOf(1)
  })
})
