import { expect } from 'chai'
import { bytesOfMessages } from '../../src/server/bodies/bytes-of-messages.ts'
import { Recent } from '../../src/server/recent.ts'

describe('Recent', () => {
  it('drops the least recently used entries, by number and by bytes', () => {
    const recent = new Recent<string>({ maxItems: 3, maxBytes: 10 }, ({ length }) => length)
    const kept = () => ['a', 'b', 'c', 'd'].map((id) => recent.get(id))
    recent.set('a', '1')
    recent.set('b', '22')
    recent.set('c', '333')
    expect(recent.get('a')).to.equal('1')
    recent.set('d', '4444')
    expect(kept()).to.deep.equal(['1', undefined, '333', '4444'])
    recent.set('a', '1'.repeat(5))
    expect(kept()).to.deep.equal(['11111', undefined, undefined, '4444'])
    recent.delete('d')
    recent.set('b', '22222')
    expect(kept()).to.deep.equal(['11111', '22222', undefined, undefined])
    recent.set('c', '3'.repeat(11))
    expect(kept()).to.deep.equal([undefined, undefined, undefined, undefined])
  })
})

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
