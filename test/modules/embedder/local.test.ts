import { expect } from 'chai'
import { describeEmbedder } from '../../suites/embedder-suite.ts'
import { makeRun } from '../../support/fake-run.ts'
import { makeEmbedder } from '../../support/memory.ts'

async function similarity(one: string, other: string): Promise<number> {
  const [a, b] = await (await makeEmbedder()).embed([one, other], makeRun())
  if (!a || !b) throw new Error('There are no vectors.')
  return a.reduce((sum, number, at) => sum + number * (b[at] as number), 0)
}

describe('embedder/local', () => {
  describeEmbedder(makeEmbedder)

  it('returns unit vectors of 384 numbers, even for a text without words', async () => {
    for (const vector of await (await makeEmbedder()).embed(['a dog', '', '?!'], makeRun())) {
      expect(vector.length).to.equal(384)
      expect(Math.hypot(...vector)).to.be.closeTo(1, 1e-5)
    }
  })

  it('matches other forms of a word, typos, accents and capitals', async () => {
    const unrelated = await similarity('The weather in Lima', 'quarterly tax report')
    for (const [one, other] of [
      ['The cats are sleeping', 'a cat sleeps'],
      ['restaurant', 'restaraunt'],
      ['東京の天気', '東京は晴れ'],
    ] as const) {
      expect(await similarity(one, other), one).to.be.above(0.25)
    }
    expect(await similarity('Café in Zürich', 'cafe zurich')).to.be.above(0.9)
    expect(unrelated).to.be.below(0.1)
  })

  it('knows no synonyms: it compares words, not meaning', async () => {
    expect(await similarity('car', 'automobile')).to.be.below(0.1)
  })

  it('returns the same vectors everywhere, so stored texts stay findable', async () => {
    const [vector] = await (await makeEmbedder()).embed(['a dog'], makeRun())
    const largest = Array.from(vector ?? [], (number, at) => ({ at, number })).sort((a, b) => b.number - a.number)
    expect(largest.slice(0, 2).map(({ at }) => at)).to.deep.equal([302, 339])
  })
})
