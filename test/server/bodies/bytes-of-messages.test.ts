import { expect } from 'chai'
import { bytesOfMessages } from '../../../src/server/bodies/bytes-of-messages.ts'

describe('bytesOfMessages', () => {
  it('counts texts, calls and attachments', () => {
    const attachments = [
      { mediaType: 'image/png', data: new Uint8Array(100) },
      { mediaType: 'image/png', data: new URL('http://h/') },
    ]
    const calls = [{ id: '1', name: 'a', arguments: {} }]
    expect(bytesOfMessages([{ role: 'user', content: 'four', attachments }])).to.equal(8 + 100 + 18)
    expect(bytesOfMessages([{ role: 'assistant', content: '', toolCalls: calls }])).to.equal(
      2 * JSON.stringify(calls).length,
    )
  })
})
