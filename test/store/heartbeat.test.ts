import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { describeProcess, hasEnded } from '../../src/process-identity.ts'
import { Heartbeat } from '../../src/store/heartbeat.ts'

const ELSEWHERE = 'another-machine 1 1'

describe('Heartbeat', () => {
  let nowMs = 0
  let isDown = false
  const heartbeat = async () => {
    nowMs = 0
    isDown = false
    const made = new Heartbeat(
      async () => {
        if (isDown) throw new Error('down')
      },
      () => nowMs,
    )
    await made.start()
    made.stop()
    return made
  }

  it('judges a server by its last heartbeat', async () => {
    const { isAlive } = bound(await heartbeat())
    nowMs = 10_000
    expect(isAlive({ process: ELSEWHERE, ageMs: 9999 })).to.equal(true)
    expect(isAlive({ process: ELSEWHERE, ageMs: 10_000 })).to.equal(false)
    expect(isAlive(undefined)).to.equal(false)
  })

  it('gives all others a full lease after its start, and after an outage of the store', async () => {
    const { isAlive, beat } = bound(await heartbeat())
    const old = { process: ELSEWHERE, ageMs: 60_000 }
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

  it('notices the end of a process on this machine at once', async () => {
    const { isAlive } = bound(await heartbeat())
    expect(isAlive({ process: describeProcess(), ageMs: 0 })).to.equal(true)
    const [machine, pid] = describeProcess().split(' ')
    expect(isAlive({ process: `${machine} ${pid} 1`, ageMs: 0 })).to.equal(false)
    const child = spawn(process.execPath, ['--eval', ''])
    await once(child, 'exit')
    expect(hasEnded(`${machine} ${child.pid} `)).to.equal(true)
    expect(hasEnded(`another-machine ${child.pid} `)).to.equal(false)
  })
})

function bound(heartbeat: Heartbeat) {
  return { isAlive: heartbeat.isAlive.bind(heartbeat), beat: heartbeat.beat.bind(heartbeat) }
}
