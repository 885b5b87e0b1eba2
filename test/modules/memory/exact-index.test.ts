import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { memoryStorage } from 'agent-host'
import { expect } from 'chai'
import Database from 'libsql'
import { describeVectorIndex } from '../../suites/vector-index-suite.ts'
import { countTurns } from '../../support/count-turns.ts'
import { makeContext, makeRun } from '../../support/fake-run.ts'
import { openIndex, openSharedIndex } from '../../support/memory.ts'
import { makeProject } from '../../support/temp-project.ts'

const run = makeRun()
const found = async (index: Awaited<ReturnType<typeof openIndex>>, ...numbers: number[]) =>
  (await index.search(Float32Array.from(numbers), 9, run)).map(({ id }) => id)

describe('memory/exact-index', () => {
  describeVectorIndex(() => openIndex())

  it('has vectors for each tenant, in files of their own, whatever its name', async () => {
    const { dir } = await makeProject()
    const tenants = ['', 'acme', 'Acme', 'a@b/..', '..']
    const search = async (index: Awaited<ReturnType<typeof openIndex>>, tenant: string) =>
      (await index.search(Float32Array.of(1, 0), 9, makeRun({ tenant }))).map(({ id }) => id)
    const index = await openIndex(dir)
    for (const tenant of tenants) await index.add(`of ${tenant}`, Float32Array.of(1, 1), makeRun({ tenant }))
    await index.remove('of ', makeRun({ tenant: 'acme' }))
    for (const tenant of tenants) expect(await search(index, tenant)).to.deep.equal([`of ${tenant}`])
    await index.dispose?.()
    const again = await openIndex(dir)
    for (const tenant of tenants) expect(await search(again, tenant)).to.deep.equal([`of ${tenant}`])
    await again.dispose?.()
    const files = readdirSync(join(dir, 'memory'), { recursive: true }).map(String)
    const names = new Set(files.filter((file) => file.endsWith('.db')).map((file) => file.toLowerCase()))
    expect(names.size).to.equal(tenants.length)
  })

  it('sees what others do after the lock of another process has refused a change', async () => {
    const { dir } = await makeProject()
    const [one, other] = [await openIndex(dir), await openIndex(dir)]
    await one.add('a', Float32Array.of(1, 0), run)
    const [file = ''] = readdirSync(join(dir, 'memory'), { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.db'))
    const holder = new Database(join(dir, 'memory', file))
    holder.exec('BEGIN IMMEDIATE')
    expect(await one.add('b', Float32Array.of(1, 0), run).catch(String)).to.match(/locked/)
    holder.exec('ROLLBACK')
    holder.close()
    for (const id of ['c', 'd', 'e']) {
      await other.add(id, Float32Array.of(1, 0), run)
      expect(await found(one, 1, 0)).to.include(id)
    }
    await one.dispose?.()
    await other.dispose?.()
  }).timeout(20_000)

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

  it('gives others their turn while it reads a large file', async () => {
    const { dir } = await makeProject()
    const [index, later] = [await openIndex(dir), await openIndex(dir)]
    for (let count = 0; count < 2000; count++) await index.add(`v${count}`, Float32Array.of(1, count), run)
    const stop = countTurns()
    const searches = await Promise.all([later.search(Float32Array.of(1, 0), 1, run), found(later, 1, 0)])
    expect(stop()).to.be.at.least(1)
    expect(searches.flat()[0]).to.deep.equal({ id: 'v0', score: 1 })
    expect(await later.search(Float32Array.of(1, 0), 5000, run)).to.have.length(2000)
    await index.dispose?.()
    await later.dispose?.()
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

  it('leaves out vectors that cannot be read, in a file as in a store that servers share, and takes others', async () => {
    const source = memoryStorage()
    const { dir } = await makeProject()
    const context = makeContext({ moduleId: 'index' })
    for (const shared of [true, false]) {
      const index = shared ? await openSharedIndex(source) : await openIndex(dir)
      for (const [id, y] of [
        ['a', 0],
        ['b', 1],
        ['c', 2],
      ] as const)
        await index.add(id, Float32Array.of(1, y), run)
      if (shared) {
        const storage = source.storageOf(context)
        const [, b] = await storage.list({ prefix: '', limit: 9 })
        await storage.set(b?.key ?? '', { id: 'b', vector: 'AAAA', at: 0 })
      } else {
        const database = new Database(`${dir}/memory/test/index.db`)
        database.prepare("UPDATE vectors SET vector = x'010203' WHERE id = 'b'").run([])
        database.close()
      }
      const other = shared ? await openSharedIndex(source) : await openIndex(dir)
      expect(await found(other, 1, 0)).to.deep.equal(['a', 'c'])
      await other.add('d', Float32Array.of(1, 0), run)
      expect(await found(other, 1, 0)).to.deep.equal(['a', 'd', 'c'])
      await index.dispose?.()
      await other.dispose?.()
    }
  })

  it('names the file that it cannot read', async () => {
    const { dir } = await makeProject({
      'memory/test/index.db': 'this is no database, but a text that is long enough to be read as one',
    })
    const failure = await openIndex(dir).catch((error: Error) => error.message)
    expect(failure).to.match(/^The file .*index\.db cannot be opened: /)
  })
})
