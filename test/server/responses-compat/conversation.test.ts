import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { makeResponses, openStream, RESPONSES, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

describe('a conversation of responses', () => {
  afterEach(closeServers)

  it('contains all messages in order, and branches', async () => {
    const { create } = await makeResponses()
    const after = (id: string) => ({ previous_response_id: id })
    const first = await create('say a')
    const left = await create(
      [
        { role: 'system', content: 'be kind' },
        { role: 'user', content: 'say l' },
      ],
      after(first.id),
    )
    const right = await create('say r', after(first.id))
    expect(left.previous_response_id).to.equal(first.id)
    const seen = async (id: string) => JSON.parse(textOf(await create('history', after(id))))
    expect(await seen(left.id)).to.deep.equal([
      'user: say a',
      'assistant: a ',
      'system: be kind',
      'user: say l',
      'assistant: l ',
      'user: history',
    ])
    expect(await seen(right.id)).to.deep.equal([
      'user: say a',
      'assistant: a ',
      'user: say r',
      'assistant: r ',
      'user: history',
    ])
  })

  it('continues streamed, background, failed and cancelled responses', async () => {
    const { create, stream, whenEnded, inject } = await makeResponses()
    const events = await stream('say a')
    const first = events.at(-2).response
    const second = await create('count 1', { background: true, previous_response_id: first.id })
    await whenEnded(second.id)
    const failed = await inject('POST', '', { model: 'talk', input: 'fail-after', previous_response_id: second.id })
    const third = failed.headers['x-response-id'] as string
    const fourth = await create('hang', { background: true, previous_response_id: third })
    await eventually(async () => expect(textOf((await inject('GET', `/${fourth.id}`)).json())).to.equal('begun '))
    await inject('POST', `/${fourth.id}/cancel`)
    const record = await create('history', { previous_response_id: fourth.id })
    expect(JSON.parse(textOf(record))).to.deep.equal([
      'user: say a',
      'assistant: a ',
      'user: count 1',
      'assistant: w0 ',
      'user: fail-after',
      'assistant: part',
      'user: hang',
      'assistant: begun ',
      'user: history',
    ])
  })

  it('keeps instructions out of the history and the next response', async () => {
    const { create } = await makeResponses()
    const first = await create('say a', { instructions: 'Be brief.' })
    const facts = await create('facts', { previous_response_id: first.id })
    expect(JSON.parse(textOf(facts))[1]).to.equal(null)
    expect(facts.instructions).to.equal(null)
    expect(textOf(await create('history', { previous_response_id: first.id }))).to.not.include('brief')
  })

  it('refuses to continue an unknown or running response', async () => {
    const { create, inject } = await makeResponses()
    const next = (id: string) => inject('POST', '', { model: 'talk', input: 'say a', previous_response_id: id })
    for (const id of ['resp_none', '', 'resp_01a1fc54-7b45-7000-983b-7fab21600000']) {
      const reply = await next(id)
      expect([reply.statusCode, reply.json()]).to.deep.equal([404, { detail: 'Response not found' }])
    }
    const { id } = await create('hang', { background: true })
    const reply = await next(id)
    expect([reply.statusCode, reply.json()]).to.deep.equal([409, { detail: 'Response is still in progress' }])
  })

  it('is whole after 150 turns, and each turn stores as little as the first', async () => {
    const { create, options, inject } = await makeResponses()
    const size = () => statSync(join(options.responsesDir, 'responses.db')).size
    let previous: string | undefined
    for (let n = 0; n < 150; n++) {
      const record = await create(`say ${n}`, previous === undefined ? {} : { previous_response_id: previous })
      previous = record.id
    }
    const record = await create('history', { previous_response_id: previous })
    expect(JSON.parse(textOf(record))).to.deep.equal([
      ...Array.from({ length: 150 }, (_, n) => [`user: say ${n}`, `assistant: ${n} `]).flat(),
      'user: history',
    ])
    await inject('DELETE', `/${record.id}`)
    expect(size()).to.be.lessThan(150 * 8000)
  })

  it('keeps the text of a deleted response only in the history of others', async () => {
    const { create, inject, close, options } = await makeResponses()
    const after = (id: string) => ({ previous_response_id: id })
    const first = await create('say canary-one')
    const second = await create('say canary-two', after(first.id))
    const branch = await create('say canary-branch', after(first.id))
    await inject('DELETE', `/${first.id}`)
    expect((await inject('GET', `/${first.id}`)).statusCode).to.equal(404)
    expect((await inject('POST', '', { model: 'talk', input: 'x', ...after(first.id) })).statusCode).to.equal(404)
    const seen = await create('history', after(second.id))
    expect(JSON.parse(textOf(seen)).slice(0, 2)).to.deep.equal(['user: say canary-one', 'assistant: canary-one '])
    await inject('DELETE', `/${seen.id}`)
    await inject('DELETE', `/${second.id}`)
    expect(textOf(await create('history', after(branch.id))))
      .to.include('canary-one')
      .and.not.include('canary-two')
    const { data } = (await inject('GET', `/${branch.id}/input_items`)).json()
    expect(data).to.have.length(1)
    for (const id of await allIds(options.responsesDir)) await inject('DELETE', `/${id}`)
    await close()
    expect(textsIn(options.responsesDir)).to.not.include('canary')
  })

  it('survives the deletion of the previous response during a run', async () => {
    const { create, inject, listen, whenEnded } = await makeResponses()
    const url = `${await listen()}${RESPONSES}`
    const first = await create('say a')
    const body = { model: 'talk', input: 'count 10', stream: true, previous_response_id: first.id }
    const stream = await openStream(url, body)
    await eventually(() => expect(stream.events().length).to.be.greaterThan(4))
    await inject('DELETE', `/${first.id}`)
    await stream.done
    const { id } = stream.events()[0].response
    await whenEnded(id)
    const seen = JSON.parse(textOf(await create('history', { previous_response_id: id })))
    expect(seen.slice(0, 3)).to.deep.equal(['user: say a', 'assistant: a ', 'user: count 10'])
  })

  it('resolves item references to stored messages', async () => {
    const { create, get } = await makeResponses()
    const first = await create('say a')
    const { first_id } = await get(`${first.id}/input_items`)
    const record = await create([
      { type: 'item_reference', id: first_id },
      { id: first.output[0].id },
      { type: 'item_reference', id: 'msg_unknown' },
      { role: 'user', content: 'history' },
    ])
    expect(JSON.parse(textOf(record))).to.deep.equal(['user: say a', 'assistant: a ', 'user: history'])
  })
})

async function allIds(dir: string): Promise<string[]> {
  const { default: Database } = await import('libsql')
  const db = new Database(join(dir, 'responses.db'))
  const rows = db.prepare("SELECT key FROM keyv WHERE key LIKE 'keyv:response:%'").all() as { key: string }[]
  db.close()
  return rows.map(({ key }) => key.slice('keyv:response:'.length))
}

function textsIn(dir: string): string {
  const files = readdirSync(dir).map((name) => join(dir, name))
  return files.map((file) => (statSync(file).isFile() ? readFileSync(file, 'latin1') : '')).join('')
}
