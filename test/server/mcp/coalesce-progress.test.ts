import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { deferred } from '../../../src/async.ts'
import { coalesceProgress } from '../../../src/server/adapters/mcp/tools/coalesce-progress.ts'

describe('progress for a client that is always behind', () => {
  it('tells the latest, and holds on to nothing of what it told before', async () => {
    const own = new AsyncLocalStorage<boolean>()
    const open = new Set<number>()
    const hook = createHook({
      // Other parts of this process make promises meanwhile.
      init: (id, type) => void (type === 'PROMISE' && own.getStore() && open.add(id)),
      promiseResolve: (id) => void open.delete(id),
    }).enable()
    const told = await own.run(true, tellAlwaysBehind)
    const held = open.size
    hook.disable()
    expect([told.length, told.at(-1)]).to.deep.equal([1001, 'latest 999'])
    expect(held).to.be.below(100)
  })
})

/** What a client has been told that takes a thousand messages, each after two others have come. */
async function tellAlwaysBehind(): Promise<string[]> {
  const told: string[] = []
  let room = deferred<void>()
  const tell = coalesceProgress((message) => {
    told.push(message)
    return room.promise
  })
  tell('first')
  for (let n = 0; n < 1000; n++) {
    tell(`skipped ${n}`)
    tell(`latest ${n}`)
    const { resolve } = room
    room = deferred()
    resolve()
    await setImmediate()
  }
  return told
}
