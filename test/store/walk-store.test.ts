import { join } from 'node:path'
import { expect } from 'chai'
import { openStore } from '../../src/store/open-store.ts'
import { copyStore } from '../../src/store/walk-store.ts'
import { makeProject } from '../support/temp-project.ts'

const MiB = 1024 * 1024

describe('copyStore', () => {
  it('writes large records in commits of a few megabytes, and small ones together', async () => {
    const projectDir = (await makeProject()).dir
    const open = (name: string) => openStore({ store: 'sqlite', dir: join(projectDir, name), projectDir })
    const [from, to] = await Promise.all([open('from'), open('to')])
    const large = Array.from({ length: 12 }, (_, n) => [`bytes:${n}`, `"${'x'.repeat(MiB / 2)}"`] as const)
    const huge = ['huge', `"${'y'.repeat(3 * MiB)}"`] as const
    const small = Array.from({ length: 100 }, (_, n) => [`row:${n}`, '1'] as const)
    for (const entry of [...large, huge]) await from.commit([entry])
    await from.commit(small)
    const sizes: number[] = []
    const commit = to.commit.bind(to)
    to.commit = (changes) => {
      sizes.push(changes.reduce((sum, [, value = '']) => sum + value.length, 0))
      return commit(changes)
    }
    expect(await copyStore(from, to)).to.equal(113)
    expect(sizes).to.have.length.below(8)
    expect(sizes.filter((size) => size > 2 * MiB)).to.deep.equal([3 * MiB + 2])
    const range = { prefix: '', limit: 200 }
    expect(await to.entries(range)).to.deep.equal(await from.entries(range))
    await Promise.all([from.close(), to.close()])
  })

  it('reads few records at once: each may be large', async () => {
    const projectDir = (await makeProject()).dir
    const open = (name: string) => openStore({ store: 'sqlite', dir: join(projectDir, name), projectDir })
    const [from, to] = await Promise.all([open('from'), open('to')])
    for (let n = 0; n < 200; n++) await from.commit([[`row:${n}`, `"${'x'.repeat(MiB / 16)}"`]])
    const sizes: number[] = []
    const entries = from.entries.bind(from)
    from.entries = async (range) => {
      const page = await entries(range)
      sizes.push(page.reduce((sum, [, value]) => sum + value.length, 0))
      return page
    }
    expect(await copyStore(from, to)).to.equal(200)
    expect(Math.max(...sizes)).to.be.below(5 * MiB)
    await Promise.all([from.close(), to.close()])
  })
})
