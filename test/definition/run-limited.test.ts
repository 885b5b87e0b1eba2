import { isTimeLimit, runLimited } from 'agent-host'
import { expect } from 'chai'

describe('runLimited', () => {
  it('stops a function that takes too long', () => {
    let calls = 0
    const endless = () => {
      for (calls++; ; );
    }
    expect(() => runLimited(endless, 50))
      .to.throw()
      .that.satisfies(isTimeLimit)
    expect(calls).to.be.within(1, 3)
  })

  it('passes on results and errors', () => {
    expect(runLimited(() => 7, 50)).equal(7)
    expect(() => runLimited(() => JSON.parse('{'), 50)).to.throw(SyntaxError)
  })

  it('takes a limit that is longer than a timer can be', () => {
    expect(runLimited(() => 'result', Number.MAX_SAFE_INTEGER)).to.equal('result')
  })

  it('calls a function again whose time went to other processes', () => {
    let calls = 0
    const pause = () => {
      if (++calls === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
      return calls
    }
    expect(runLimited(pause, 50)).equal(2)
  })

  it('gives all calls together the CPU time of one', () => {
    const { cpuUsage } = process
    let user = 0
    process.cpuUsage = (before) => ({ user: user - (before?.user ?? 0), system: 0 })
    let calls = 0
    const work = () => {
      calls++
      user += 20_000
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
    }
    try {
      expect(() => runLimited(work, 50)).to.throw()
    } finally {
      process.cpuUsage = cpuUsage
    }
    expect(calls).equal(2)
  })
})
