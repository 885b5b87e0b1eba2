import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { makeRun } from '../../support/fake-run.ts'
import { openIndex, openMemory, openProjectStore } from '../../support/memory.ts'
import { makeProject } from '../../support/temp-project.ts'

const CHILD = fileURLToPath(new URL('../../support/memory-process.ts', import.meta.url))

/** Lets a process store until it has told of `count` texts, and kills it in the middle of the next. */
async function storeAndDie(dir: string, count: number): Promise<{ id: string; n: number }[]> {
  // Its modules from source, and the built agent-host below them: all of it from source takes seconds to load.
  const child = spawn(process.execPath, ['--import=tsx', CHILD, dir], { stdio: ['ignore', 'pipe', 'inherit'] })
  let told = ''
  child.stdout.on('data', (chunk) => {
    told += chunk
    if (told.split('\n').length > count) child.kill('SIGKILL')
  })
  await once(child, 'close')
  return told
    .split('\n')
    .slice(0, -1)
    .map((line) => ({ id: line.split(' ')[0] as string, n: Number(line.split(' ')[1]) }))
}

describe('a memory whose process is killed', () => {
  it('keeps every stored text whole, and stays usable', async () => {
    for (const count of [1, 100]) {
      const { dir } = await makeProject()
      const told = await storeAndDie(dir, count)
      const [store, index] = [openProjectStore(dir), await openIndex(dir)]
      const memory = await openMemory(dir, { source: store.source, index })
      const entries = await memory.list(makeRun())
      const ids = entries.map(({ id }) => id)
      expect(told.length).to.be.at.least(count)
      expect(ids).to.include.members(told.filter(({ n }) => n % 3 !== 2).map(({ id }) => id))
      for (const { id, n } of told) if (n % 3 === 2) expect(ids).not.to.include(id)
      for (const { id, text, metadata } of entries) {
        const whole = metadata.changed
          ? `changed${metadata.n}|changed${metadata.n}`
          : `begin${metadata.n}|middle${metadata.n}|end${metadata.n}`
        expect(text).to.equal(whole)
        const words = metadata.changed ? [`changed${metadata.n}`] : [`begin${metadata.n}`, `end${metadata.n}`]
        for (const word of words) expect((await memory.search(word, 1, makeRun()))[0]?.id, word).to.equal(id)
      }
      await memory.store('afterwards', {}, makeRun())
      expect((await memory.search('afterwards', 1, makeRun()))[0]?.text).to.equal('afterwards')
      await index.dispose?.()
      await store.close()
    }
  })
})
