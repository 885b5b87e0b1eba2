// A process that commits to a SQLite store until it is killed, and says what was acknowledged.
// node --import=tsx store-process.ts <file> <mode>
import { setFlagsFromString } from 'node:v8'
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts'

const [, , file = '', mode = 'write'] = process.argv
// Of the threads that are started from here on.
if (mode === 'memory') setFlagsFromString('--max-old-space-size=40')
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
} else if (mode === 'memory') {
  for (let n = 0; n < 100; n++) await store.commit([[`large:${n}`, JSON.stringify('x'.repeat(1_000_000))]])
  await store.entries({ prefix: '', limit: 1000 }).catch(({ message }) => console.log(message))
  console.log(`found ${(await store.list({ prefix: 'large:9', limit: 2 })).length}`)
  await store.close()
} else if (mode === 'close') {
  await store.close()
  console.log('closed')
} else setInterval(() => {}, 1000)
