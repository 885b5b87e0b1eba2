import { expect } from 'chai'
import { makeVariants } from '../../src/evals/columns.ts'
import { measureCpuTime } from '../support/cpu-time.ts'

describe('variants of an eval', () => {
  it('are at most 16, and more are only counted', () => {
    const change = (number: number) => ({ module: `m${number % 20}`, path: ['x'], value: number })
    expect(makeVariants([0, 1, 2, 20, 22].map(change))).to.have.length(5)
    const many = Array.from({ length: 40 }, (_, number) => change(number))
    const cpuMs = measureCpuTime()
    expect(() => makeVariants(many)).to.throw('--set makes 1048576 variants; at most 16 are run.')
    expect(cpuMs()).to.be.below(500)
  })
})
