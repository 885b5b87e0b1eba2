import { expect } from 'chai'
import token from '../../../modules/chunker/token.ts'
import { describeChunker } from '../../suites/chunker-suite.ts'
import { countTurns } from '../../support/count-turns.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { makeContext, makeRun } from '../../support/fake-run.ts'

const makeChunker = (max_tokens: number, overlap: number) => token.create({}, { max_tokens, overlap }, makeContext())
const chunk = async (text: string, max: number, overlap: number) =>
  (await makeChunker(max, overlap)).chunk(text, makeRun())

describe('chunker/token', () => {
  describeChunker(() => makeChunker(20, 4), 80)

  it('splits between sentences where possible', async () => {
    const text = 'The first sentence. A second one! Is this the third? Yes, and a fourth.'
    expect(await chunk(text, 10, 0)).to.deep.equal([
      'The first sentence. A second one!',
      'Is this the third? Yes, and a fourth.',
    ])
  })

  it('starts a piece with the end of the previous one', async () => {
    const words = Array.from({ length: 20 }, (_, n) => `w${10 + n}`).join(' ')
    expect(await chunk(words, 8, 2)).to.deep.equal([
      'w10 w11 w12 w13 w14 w15 w16 w17',
      'w16 w17 w18 w19 w20 w21 w22 w23',
      'w22 w23 w24 w25 w26 w27 w28 w29',
    ])
  })

  it('splits a long text without spaces in linear time, and gives others their turn', async () => {
    const text = '\u6f22\u5b57\u4eee\u540d'.repeat(50_000)
    const [cpuMs, turns] = [measureCpuTime(), countTurns()]
    const pieces = await chunk(text, 200, 0)
    expect(cpuMs()).to.be.below(3000)
    expect(turns()).to.be.above(5)
    expect(pieces.join('')).to.equal(text)
    const whole = `a${'\u0301'.repeat(100_000)}`
    expect(await chunk(`${whole}b`, 200, 0)).to.deep.equal([whole, 'b'])
  })

  it('finishes when the overlap is as long as a piece', async () => {
    expect(await chunk('one two three four five six seven eight nine ten', 8, 500)).to.have.length(3)
  })
})
