import { execFileSync } from 'node:child_process'
import { expect } from 'chai'

const SCRIPT = `
import { executionAsyncResource } from 'node:async_hooks'
import { keepTickShape } from './src/server/make-app.ts'
const kept = keepTickShape()
const haveSameMap = new Function('one', 'other', 'return %HaveSameMap(one, other)')
const ticks = (count, then) => process.nextTick(() => (count > 0 ? ticks(count - 1, then) : then()))
const look = () => console.log(kept ? haveSameMap(kept, executionAsyncResource()) : 'none')
// Between two ticks that wait, there is none.
const collect = () => setImmediate(() => { gc(); ticks(20_000, look) })
ticks(100, collect)`

describe('the shape of ticks', () => {
  it('is kept as Node 20 has it, also after a collection of the heap; elsewhere there is none', () => {
    const flags = ['--allow-natives-syntax', '--expose-gc', '--import=tsx', '--input-type=module', '--eval', SCRIPT]
    expect(execFileSync(process.execPath, flags, { encoding: 'utf8' }).trim()).to.equal(
      process.versions.node.startsWith('20.') ? 'true' : 'none',
    )
  })
})
