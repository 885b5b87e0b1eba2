import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import Database from 'libsql'
import { type Json, makeResponses, RESPONSES_PROJECT, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

const FIXTURES = new URL('../../fixtures/responses-v1/', import.meta.url)
/** Answers of the version that wrote `responses.db` beside it. */
const expected: Json = JSON.parse(readFileSync(new URL('expected.json', FIXTURES), 'utf8'))

describe('a store written by the first version', () => {
  afterEach(closeServers)

  async function open(change?: (db: Database.Database) => void) {
    const { dir, path } = await makeProject(RESPONSES_PROJECT)
    mkdirSync(path('responses'))
    const file = path('responses/responses.db')
    copyFileSync(fileURLToPath(new URL('responses.db', FIXTURES)), file)
    if (change) {
      const db = new Database(file)
      change(db)
      db.close()
    }
    return makeResponses({ projectDir: dir })
  }

  it('returns the same records, events and input items', async () => {
    const { get, inject } = await open()
    for (const [id, record] of Object.entries(expected.records)) expect(await get(id)).to.deep.equal(record)
    for (const [id, events] of Object.entries(expected.events)) {
      expect((await inject('GET', `/${id}?stream=true`)).body).to.equal(events)
    }
    for (const [id, page] of Object.entries(expected.inputItems)) {
      expect(await get(id, '/input_items?limit=100')).to.deep.equal(page)
    }
  })

  it('keeps working: conversations, repeated requests, cancelling and deleting', async () => {
    const { create, get, inject } = await open()
    for (const [id, history] of Object.entries(expected.histories)) {
      expect(JSON.parse(textOf(await create('history', { previous_response_id: id })))).to.deep.equal(history)
    }
    const [first] = expected.chain
    const cancelled = (await inject('POST', `/${expected.cancelledAfter}/cancel`)).json()
    expect(cancelled).to.deep.equal(expected.records[expected.cancelledAfter])
    expect((await inject('DELETE', `/${first}`)).statusCode).to.equal(200)
    expect((await get(first)).detail).to.equal('Response not found')
    const { status, error } = await get(expected.running)
    expect([status, error.message]).to.deep.equal(['failed', 'The server restarted before the response was complete'])
  })

  it('may have a damaged or newer row: only that response is missing', async () => {
    const { chain, running, items } = expected
    const { create, get, inject } = await open((db) => {
      const damage = db.prepare('UPDATE keyv SET value = ? WHERE key = ?')
      const newer = `{"value":${JSON.stringify({ version: 99, id: chain[1] })}}`
      damage.run([newer, `keyv:response:${chain[1]}`])
      damage.run(['{"value":{"respon', `keyv:response:${running}`])
      damage.run([newer, `keyv:turn:${items}`])
    })
    const detailOf = async (path: string) => {
      const reply = await inject('GET', path)
      return [reply.statusCode, reply.json().detail]
    }
    const newer = `was written by a newer version of agent-host.`
    expect(await detailOf(`/${chain[1]}`)).to.deep.equal([503, `The stored response '${chain[1]}' ${newer}`])
    expect(await detailOf(`/${running}`)).to.deep.equal([503, `The stored response '${running}' is damaged.`])
    const refused = await inject('POST', '', { model: 'talk', input: 'hi', previous_response_id: items })
    expect([refused.statusCode, refused.json().detail]).to.deep.equal([503, `The stored response '${items}' ${newer}`])
    expect((await get(chain[0])).status).to.equal('completed')
    expect((await create('say a', { previous_response_id: chain[0] })).status).to.equal('completed')
  })
})
