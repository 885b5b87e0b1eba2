import { join } from 'node:path'
import { expect } from 'chai'
import { openStore } from '../../../src/store/open-store.ts'
import { type Json, makeResponses, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

const TURNS = 40
/** Characters of each turn. */
const LENGTH = 20_000

describe('a background response', () => {
  afterEach(closeServers)

  it('has rows of one size at any turn, and its history from the turns, whatever is deleted before it begins', async () => {
    const { create, inject, close, project } = await makeResponses({ noWorker: true })
    const ids: string[] = []
    const queued: string[] = []
    for (let turn = 1; turn <= TURNS; turn++) {
      const previous = turn === 1 ? {} : { previous_response_id: ids.at(-1) }
      if (turn === 1 || turn === 10 || turn === TURNS) {
        queued.push((await create('history', { ...previous, background: true })).id)
      }
      ids.push((await create(`turn ${turn} ${'.'.repeat(LENGTH)}`, previous)).id)
    }
    const records = await openStore({ store: 'sqlite', dir: join(project.dir, 'responses'), projectDir: project.dir })
    const rows = await records.get(queued.map((id) => `response:${id}`))
    await records.close()
    const lengths = rows.map((row = '') => row.length)
    expect(Math.max(...lengths) - Math.min(...lengths)).to.be.below(110)
    for (const id of ids) expect((await inject('DELETE', `/${id}`)).statusCode).to.equal(200)
    await close()
    const { whenEnded } = await makeResponses({ projectDir: project.dir })
    const said = (await Promise.all(queued.map(whenEnded))).map((record: Json) => JSON.parse(textOf(record)))
    expect(
      said.map((messages) => messages.filter((message: string) => message.startsWith('user')).length),
    ).to.deep.equal([1, 10, TURNS])
    expect(said[2][0].length).to.be.above(LENGTH)
  })
})
