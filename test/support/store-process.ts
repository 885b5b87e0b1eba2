// A process that commits to a SQLite store until it is killed, and says what was acknowledged.
// node --import=tsx store-process.ts <file> <mode>
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts'

const [, , file = '', mode = 'write'] = process.argv
const store = await SqliteStore.open(file)
console.log(`server ${store.serverId}`)
if (mode === 'write') {
  const lane = async (name: number) => {
    for (let n = 0; ; n++) {
      const key = `${process.pid}-${name}-${n}`
      await store.commit([
        [`one:${key}`, JSON.stringify('x'.repeat(500))],
        [`two:${key}`, JSON.stringify('y'.repeat(500))],
      ])
      console.log(`done ${key}`)
    }
  }
  for (let name = 0; name < 8; name++) void lane(name)
} else setInterval(() => {}, 1000)
