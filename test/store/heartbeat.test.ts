import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { describeProcess, hasEnded } from '../../src/process-identity.ts'
import { Heartbeat, type Sighting } from '../../src/store/heartbeat.ts'

const ELSEWHERE = 'another-machine 1 1'

describe('Heartbeat', () => {
  let nowMs = 0
  let isDown = false
  let others: Sighting[] = []
  let forgotten: readonly string[] = []
  const heartbeat = async () => {
    nowMs = 0
    isDown = false
    others = []
    const made = new Heartbeat(
      async (silent) => {
        forgotten = silent
        if (isDown) throw new Error('down')
        return others
      },
      () => nowMs,
    )
    await made.start()
    made.stop()
    return made
  }
  const seen = (sign: number, process = ELSEWHERE) => ({ id: 'other', process, sign })

  it('judges a server by whether its sign changes, whatever time the sign names', async () => {
    const { isAlive } = bound(await heartbeat())
    nowMs = 20_000
    expect(isAlive(seen(5000))).to.equal(true)
    nowMs = 29_999
    expect(isAlive(seen(5000))).to.equal(true)
    nowMs = 30_000
    expect(isAlive(seen(5000))).to.equal(false)
    // The clock of the store went ahead, then back.
    for (const sign of [3_605_000, 5003]) {
      expect(isAlive(seen(sign))).to.equal(true)
      nowMs += 9999
      expect(isAlive(seen(sign))).to.equal(true)
      nowMs += 1
      expect(isAlive(seen(sign))).to.equal(false)
    }
    expect(isAlive(undefined)).to.equal(false)
  })

  it('notes the signs of all with its own: the first question about a dead server is answered at once', async () => {
    const { isAlive, beat } = bound(await heartbeat())
    others = [seen(1)]
    nowMs = 3000
    await beat()
    nowMs = 13_000
    expect(isAlive(seen(1))).to.equal(false)
    others = []
    await beat()
    // It is not remembered: this is another that has come since.
    expect(isAlive(seen(1))).to.equal(true)
  })

  it('gives all others a full lease after its start, and after an outage of the store', async () => {
    const { isAlive, beat } = bound(await heartbeat())
    const old = seen(1)
    others = [old]
    await beat()
    nowMs = 9999
    expect(isAlive(old)).to.equal(true)
    nowMs = 10_000
    expect(isAlive(old)).to.equal(false)
    isDown = true
    await beat()
    expect(isAlive(old)).to.equal(true)
    isDown = false
    nowMs = 30_000
    await beat()
    nowMs = 39_999
    await beat()
    expect(isAlive(old)).to.equal(true)
    nowMs = 40_000
    expect(isAlive(old)).to.equal(false)
  })

  it('lets a server be forgotten only after it was silent for a lease, whatever time its sign names', async () => {
    const { beat } = bound(await heartbeat())
    others = [seen(1), { ...seen(-31_536_000_000), id: 'year-behind' }]
    await beat()
    for (nowMs = 3000; nowMs <= 9000; nowMs += 3000) {
      others = [seen(1), { ...seen(-31_536_000_000 + nowMs), id: 'year-behind' }]
      await beat()
      expect(forgotten).to.deep.equal([])
    }
    await beat()
    expect(forgotten).to.deep.equal(['other'])
  })

  it('notices the end of a process on this machine at once', async () => {
    const { isAlive } = bound(await heartbeat())
    expect(isAlive(seen(1, describeProcess()))).to.equal(true)
    const [machine, pid] = describeProcess().split(' ')
    expect(isAlive(seen(1, `${machine} ${pid} 1`))).to.equal(false)
    const child = spawn(process.execPath, ['--eval', ''])
    await once(child, 'exit')
    expect(hasEnded(`${machine} ${child.pid} `)).to.equal(true)
    expect(hasEnded(`another-machine ${child.pid} `)).to.equal(false)
  })
})

function bound(heartbeat: Heartbeat) {
  return { isAlive: heartbeat.isAlive.bind(heartbeat), beat: heartbeat.beat.bind(heartbeat) }
}
