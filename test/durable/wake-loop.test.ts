import { expect } from 'chai'
import { deferred, settlesWithin } from '../../src/async.ts'
import { WakeLoop } from '../../src/durable/wake-loop.ts'
import { eventually } from '../support/eventually.ts'

const NEVER_MS = 2 ** 30

describe('a loop that is woken', () => {
  const loops: WakeLoop[] = []
  const open = (look: () => Promise<boolean>, more: object = {}) => {
    const failures: unknown[] = []
    const loop = new WakeLoop({ everyMs: NEVER_MS, look, onFailure: (error) => failures.push(error), ...more })
    loops.push(loop)
    loop.start()
    return { loop, failures }
  }

  afterEach(async () => {
    for (const loop of loops.splice(0)) await loop.stop()
  })

  it('looks once at a time, and again when it was woken meanwhile, however often', async () => {
    const looks = [deferred<boolean>(), deferred<boolean>()]
    let count = 0
    const { loop } = open(async () => looks[count++]?.promise ?? false)
    for (let wakes = 0; wakes < 3; wakes++) loop.wake()
    expect(count).to.equal(1)
    looks[0]?.resolve(false)
    await eventually(() => expect(count).to.equal(2))
    looks[1]?.resolve(false)
    await loop.stop()
    expect(count).to.equal(2)
  })

  it('looks again at once while a look says so', async () => {
    let count = 0
    open(async () => ++count < 5)
    await eventually(() => expect(count).to.equal(5))
  })

  it('looks at its interval, also after a look that has failed', async () => {
    let count = 0
    const look = async () => {
      if (++count === 1) throw new Error('refused')
      return false
    }
    const { failures } = open(look, { everyMs: 1 })
    await eventually(() => expect(count).to.be.above(2))
    expect(failures.map(String)).to.deep.equal(['Error: refused'])
  })

  it('that is stopped waits for the look under way, begins no other, and watches nothing more', async () => {
    const [begun, look] = [deferred(), deferred<boolean>()]
    let count = 0
    let isWatching = false
    const watch = () => {
      isWatching = true
      return () => {
        isWatching = false
      }
    }
    const next = async () => {
      count++
      begun.resolve()
      return look.promise
    }
    const { loop } = open(next, { watch })
    await begun.promise
    loop.wake()
    const stopped = loop.stop()
    expect([await settlesWithin(stopped, 20), isWatching]).to.deep.equal([false, false])
    look.resolve(true)
    await stopped
    loop.wake()
    expect(count).to.equal(1)
  })
})
