import { expect } from 'chai'
import { describeVectorIndex } from '../../suites/vector-index-suite.ts'
import { makeRun } from '../../support/fake-run.ts'
import { openIndex } from '../../support/memory.ts'
import { makeProject } from '../../support/temp-project.ts'

const run = makeRun()
const found = async (index: Awaited<ReturnType<typeof openIndex>>, ...numbers: number[]) =>
  (await index.search(Float32Array.from(numbers), 9, run)).map(({ id }) => id)

describe('memory/exact-index', () => {
  describeVectorIndex(() => openIndex())

  it('keeps everything across a restart', async () => {
    const { dir } = await makeProject()
    const index = await openIndex(dir)
    await index.add('a', Float32Array.of(1, 0), run)
    await index.add('b', Float32Array.of(0, 1), run)
    await index.add('a', Float32Array.of(1, 0.5), run)
    await index.add('c', Float32Array.of(0, 1), run)
    await index.remove('c', run)
    await index.dispose?.()
    const again = await openIndex(dir)
    expect(await again.search(Float32Array.of(2, 1), 9, run)).to.deep.equal([
      { id: 'a', score: 1 },
      { id: 'b', score: Math.fround(1 / Math.sqrt(5)) },
    ])
    await again.dispose?.()
  })

  it('picks up changes that others write to its file', async () => {
    const { dir } = await makeProject()
    const [one, other] = [await openIndex(dir), await openIndex(dir)]
    await one.add('a', Float32Array.of(1, 0), run)
    expect(await found(other, 1, 0)).to.deep.equal(['a'])
    await other.add('a', Float32Array.of(0, 1), run)
    await other.add('b', Float32Array.of(1, 0), run)
    expect(await found(one, 1, 0)).to.deep.equal(['b', 'a'])
    await one.remove('b', run)
    expect(await found(other, 1, 0)).to.deep.equal(['a'])
    await one.dispose?.()
    await other.dispose?.()
  })

  it('names the file that it cannot read', async () => {
    const { dir } = await makeProject({
      'memory/test/index.db': 'this is no database, but a text that is long enough to be read as one',
    })
    const failure = await openIndex(dir).catch((error: Error) => error.message)
    expect(failure).to.match(/^The file .*index\.db cannot be opened: /)
  })
})
