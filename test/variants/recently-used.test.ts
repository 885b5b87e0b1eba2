import { expect } from 'chai'
import { RecentlyUsed } from '../../src/variants/recently-used.ts'

describe('recently used items', () => {
  it('are forgotten when nobody used them for a while, or too many others were used since', () => {
    let nowMs = 0
    const forgotten: string[] = []
    const items = new RecentlyUsed<string>(
      { maxItems: 3, maxIdleMs: 100 },
      (item) => forgotten.push(item),
      () => nowMs,
    )
    for (const name of ['a', 'b', 'c']) items.add(name, name)
    expect(items.get('a')).to.equal('a')
    items.add('d', 'd')
    expect([items.keys(), forgotten]).to.deep.equal([['c', 'a', 'd'], ['b']])
    nowMs = 60
    expect(items.get('c')).to.equal('c')
    nowMs = 120
    expect([items.get('a'), items.get('c'), items.keys()]).to.deep.equal([undefined, 'c', ['c']])
    expect(forgotten).to.deep.equal(['b', 'a', 'd'])
    items.delete('c')
    expect([items.keys(), forgotten]).to.deep.equal([[], ['b', 'a', 'd', 'c']])
  })
})
