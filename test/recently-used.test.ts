import { expect } from 'chai'
import { RecentlyUsed } from '../src/recently-used.ts'

describe('recently used items', () => {
  it('are forgotten when nobody used them for a while, or too many others were used since', () => {
    let nowMs = 0
    const forgotten: string[] = []
    const items = new RecentlyUsed<string>({
      maxItems: 3,
      maxIdleMs: 100,
      onForget: (item) => forgotten.push(item),
      now: () => nowMs,
    })
    const keys = () => [...items].map(([key]) => key)
    for (const name of ['a', 'b', 'c']) items.set(name, name)
    expect(items.get('a')).to.equal('a')
    items.set('d', 'd')
    expect([keys(), forgotten]).to.deep.equal([['c', 'a', 'd'], ['b']])
    nowMs = 60
    expect(items.get('c')).to.equal('c')
    nowMs = 120
    expect([items.get('a'), items.get('c'), keys()]).to.deep.equal([undefined, 'c', ['c']])
    expect(forgotten).to.deep.equal(['b', 'a', 'd'])
    items.delete('c')
    expect([keys(), forgotten]).to.deep.equal([[], ['b', 'a', 'd', 'c']])
  })

  it('are forgotten by number and by bytes, the least recently used first', () => {
    const recent = new RecentlyUsed<string>({ maxItems: 3, maxBytes: 10, bytesOf: ({ length }) => length })
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
