// Stores as fast as it can, and says what was stored, until it is killed. Arguments: the project folder.
import { makeRun } from './fake-run.ts'
import { openMemory, openProjectStore } from './memory.ts'

const [dir = ''] = process.argv.slice(2)
const { source } = openProjectStore(dir)
const memory = await openMemory(dir, { source, chunker: { chunk: async (text) => text.split('|') } })
for (let n = 0; ; n++) {
  const id = await memory.store(`begin${n}|middle${n}|end${n}`, { n }, makeRun())
  if (n % 3 === 1) await memory.update(id, `changed${n}|changed${n}`, { n, changed: true }, makeRun())
  if (n % 3 === 2) await memory.delete(id, makeRun())
  process.stdout.write(`${id} ${n}\n`)
}
