import { createHash } from 'node:crypto'
import { setInterval } from 'node:timers'
import { expect } from 'chai'
import { describeEmbedder } from '../../suites/embedder-suite.ts'
import { makeRun } from '../../support/fake-run.ts'
import { makeEmbedder } from '../../support/memory.ts'

async function similarity(one: string, other: string): Promise<number> {
  const [a, b] = await (await makeEmbedder()).embed([one, other], makeRun())
  if (!a || !b) throw new Error('There are no vectors.')
  return a.reduce((sum, number, at) => sum + number * (b[at] as number), 0)
}

const STATEMENT = 'Donaudampfschiffe fahren; Ὀδυσσεύς ΟΔΟΣ, ﬁne ™ 東京の天気は晴れ、明日は雨。 สวัสดีครับ 한국어 😀 '
const numbers = (count: number) => Array.from({ length: count }, (_, at) => ((at * 7919) % 1_679_616).toString(36))
const LONG: Record<string, () => string> = {
  'one word of 5 MB': () => 'a'.repeat(5_000_000),
  '5 MB of different words': () => numbers(1_050_000).join(' '),
  '5 MB of short words': () => 'ab '.repeat(1_700_000),
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
    const texts = [STATEMENT, STATEMENT.repeat(2000), numbers(50_000).join(', '), 'a'.repeat(64)]
    const rounded = (await (await makeEmbedder()).embed(texts, makeRun())).map((numbers) =>
      Array.from(numbers, (number) => Math.round(number * 10_000)),
    )
    expect(createHash('sha256').update(JSON.stringify(rounded)).digest('hex').slice(0, 16)).to.equal('d094bf543911849d')
  })

  for (const [what, write] of Object.entries(LONG)) {
    it(`lets others have their turn within a text: ${what}`, async () => {
      const [text, embedder] = [write(), await makeEmbedder()]
      const heap = () => process.memoryUsage().heapUsed
      const before = heap()
      let [last, longestMs, largest] = [performance.now(), 0, 0]
      const look = () => {
        longestMs = Math.max(longestMs, performance.now() - last)
        largest = Math.max(largest, heap() - before)
        last = performance.now()
      }
      const ticks = setInterval(look, 20)
      const [vector] = await embedder.embed([text], makeRun())
      look()
      clearInterval(ticks)
      expect(Math.hypot(...(vector ?? []))).to.be.closeTo(1, 1e-5)
      // A megabyte in one go takes more than a second.
      expect(longestMs).to.be.below(500)
      expect(largest).to.be.below(150_000_000)
    })
  }

  it('ends within a text with its run', async () => {
    const controller = new AbortController()
    const embedding = (await makeEmbedder()).embed(['a '.repeat(5_000_000)], makeRun({ signal: controller.signal }))
    controller.abort(new Error('enough'))
    expect(
      await embedding.then(
        () => undefined,
        (error: Error) => error.message,
      ),
    ).to.equal('enough')
  })
})
