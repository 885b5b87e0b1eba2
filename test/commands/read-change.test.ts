import { expect } from 'chai'
import { readChange } from '../../src/commands/replay/read-change.ts'

describe('a value of --set', () => {
  it('names a module, or an agent before it: of ids with dots the longest that is known', () => {
    const agents = ['desk', 'desk.eu', 'main']
    expect(readChange('main.system_prompt=Be brief', agents)).deep.equal({
      module: 'main',
      path: ['system_prompt'],
      value: 'Be brief',
    })
    expect(readChange('desk.main.limits.0.steps=3', agents)).deep.equal({
      agent: 'desk',
      module: 'main',
      path: ['limits', 0, 'steps'],
      value: 3,
    })
    expect(readChange('desk.eu.main.tone=short', agents)).deep.equal({
      agent: 'desk.eu',
      module: 'main',
      path: ['tone'],
      value: 'short',
    })
  })
})
