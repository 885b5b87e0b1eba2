import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { seeing } from '../../src/host/visits.ts'

describe('agents that a visitor sees', () => {
  it('are those of the globs, by their own names and by those of their entry points', () => {
    const sees = seeing(['support', 'sales-*'], 'ada')
    const names = ['support', 'support/main', 'sales-eu/main', 'supports', 'sales', 'support', 'supports/main']
    expect(names.map((name) => sees(name))).to.deep.equal([true, true, true, false, false, true, false])
    expect(sees.key).to.equal('ada')
  })

  it('have names of any length: no long one stays in memory', () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const sees = seeing(['support'])
    collect()
    const before = process.memoryUsage().heapUsed
    for (let count = 0; count < 200; count++) sees(`${count}/`.padStart(200_000, 'x'))
    collect()
    expect(process.memoryUsage().heapUsed - before).to.be.lessThan(10_000_000)
  })
})
