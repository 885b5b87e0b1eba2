import { expect } from 'chai'
import { toArguments } from '../../src/store/postgres/commit-arguments.ts'

describe('the arguments of a commit to PostgreSQL', () => {
  it('have texts as they are: to escape a large one would hold the event loop', () => {
    const text = JSON.stringify({ code: 'const a = "ü\\n"\n'.repeat(3) })
    const changes = [['set', text] as const, ['removed', undefined] as const]
    const guards = { present: ['there'], equal: [['owner', text] as const] }
    const [, guardOf, guardKeys, guardValues, , , , setOf, , setValues] = toArguments('me', [
      { changes, guards, notify: [] },
    ])
    expect([guardOf, setOf]).to.deep.equal([[0, 0], [0]])
    for (const values of [guardValues, setValues]) expect((values as Buffer).includes(text)).to.equal(true)
    // One dimension, without nulls, of the type 25, two texts from the first on, each after its length.
    expect((guardKeys as Buffer).toString('hex')).to.equal(
      `${'00000001 00000000 00000019 00000002 00000001'.replaceAll(' ', '')}00000005${hex('there')}00000005${hex('owner')}`,
    )
  })
})

function hex(text: string): string {
  return Buffer.from(text).toString('hex')
}
