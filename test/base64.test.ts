import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { decodeBase64, encodeBase64 } from '../src/base64.ts'

const SLICE_BYTES = 192 * 1024

describe('decodeBase64', () => {
  for (const size of [0, 1, 2, 3, SLICE_BYTES - 1, SLICE_BYTES, SLICE_BYTES + 1, 3 * SLICE_BYTES + 2]) {
    it(`reads ${size} bytes`, () => {
      const bytes = randomBytes(size)
      expect(bytes.equals(decodeBase64(encodeBase64(bytes)))).equal(true)
      expect(bytes.equals(decodeBase64(`data:;base64,${encodeBase64(bytes)}`, 13))).equal(true)
    })
  }

  it('reads text with line breaks, as in mail', () => {
    const bytes = randomBytes(2 * SLICE_BYTES)
    const lines = encodeBase64(bytes).replace(/.{76}/g, '$&\r\n')
    expect(bytes.equals(decodeBase64(lines))).equal(true)
  })

  it('reads the URL alphabet, without padding', () => {
    const bytes = randomBytes(SLICE_BYTES + 5)
    expect(bytes.equals(decodeBase64(bytes.toString('base64url')))).equal(true)
  })
})
