import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import Database from 'libsql'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { eventually } from '../../support/eventually.ts'
import { type Json, makeResponses, openStream, RESPONSES, talkState, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

describe('the life of a response', () => {
  afterEach(closeServers)

  describe('in the background', () => {
    it('starts at once, keeps running, and can be fetched when it has ended', async () => {
      const { create, whenEnded } = await makeResponses()
      const begun = await create('count 3', { background: true })
      expect(begun).to.deep.include({ status: 'in_progress', background: true, output: [], completed_at: null })
      const record = await whenEnded(begun.id)
      expect([record.status, textOf(record)]).to.deep.equal(['completed', 'w0 w1 w2 '])
      expect({ ...record, status: 'in_progress', output: [], completed_at: null, usage: begun.usage }).to.deep.equal(
        begun,
      )
    })

    it('streams, and keeps running when its client disconnects', async () => {
      const { listen, whenEnded } = await makeResponses()
      const url = `${await listen()}${RESPONSES}`
      const stream = await openStream(url, { model: 'talk', input: 'count 10', stream: true, background: true })
      await eventually(() => expect(stream.events().length).to.be.greaterThan(4))
      stream.leave()
      const record = await whenEnded(stream.events()[0].response.id)
      expect(record.status).to.equal('completed')
    })

    it('fails when the agent does', async () => {
      const { create, whenEnded } = await makeResponses()
      const record = await whenEnded((await create('fail-after', { background: true })).id)
      expect([record.status, textOf(record)]).to.deep.equal(['failed', 'part'])
      expect(record.error).to.deep.equal({ code: 'server_error', message: 'Agent execution failed' })
    })

    it('stops when cancelled, and keeps its text so far', async () => {
      const { create, get, inject, join } = await makeResponses()
      const aborted = talkState().aborted
      const { id } = await create('hang', { background: true })
      await eventually(async () => expect(textOf(await get(id))).to.equal('begun '))
      const reply = await inject('POST', `/${id}/cancel`)
      expect(reply.statusCode).to.equal(200)
      expect([reply.json().status, textOf(reply.json())]).to.deep.equal(['cancelled', 'begun '])
      await eventually(() => expect(talkState().aborted).to.equal(aborted + 1))
      expect(await get(id)).to.deep.equal(reply.json())
      const events = await join(id)
      expect(events.slice(-3).map((event) => event.type)).to.deep.equal([
        'response.output_text.delta',
        'response.cancelled',
        undefined,
      ])
      expect(events.at(-2).response).to.deep.equal(reply.json())
      expect((await inject('POST', `/${id}/cancel`)).json()).to.deep.equal(reply.json())
    })

    it('can be cancelled after its end, and keeps its output', async () => {
      const { create, whenEnded, inject, get, join } = await makeResponses()
      const { id } = await create('say a', { background: true })
      const completed = await whenEnded(id)
      const cancelled = (await inject('POST', `/${id}/cancel`)).json()
      expect(cancelled).to.deep.equal({ ...completed, status: 'cancelled' })
      expect(await get(id)).to.deep.equal(cancelled)
      expect((await join(id)).slice(-3).map((event) => event.type)).to.deep.equal([
        'response.completed',
        'response.cancelled',
        undefined,
      ])
    })

    it('is never completed once reported as cancelled, even in a race', async () => {
      const { create, inject, get } = await makeResponses({ logLevel: 'silent' })
      const race = async (n: number) => {
        const { id } = await create(n % 2 ? 'say a b c' : 'count 1', { background: true })
        for (let turns = 0; turns < n % 23; turns++) await new Promise((resolve) => setImmediate(resolve))
        if (n % 4 === 0) await wait(n % 20)
        const reply = await inject('POST', `/${id}/cancel`)
        expect([reply.statusCode, reply.json().status]).to.deep.equal([200, 'cancelled'])
        await wait(30)
        return (await get(id)).status
      }
      const statuses: string[] = []
      for (let round = 0; round < 10; round++) {
        statuses.push(...(await Promise.all(Array.from({ length: 50 }, (_, n) => race(round * 50 + n)))))
      }
      expect(statuses).to.deep.equal(Array(500).fill('cancelled'))
    })
  })

  it('refuses to cancel a foreground or unknown response', async () => {
    const { create, inject } = await makeResponses()
    const { id } = await create('say a')
    const reply = await inject('POST', `/${id}/cancel`)
    expect([reply.statusCode, reply.json()]).to.deep.equal([
      400,
      { detail: 'Only background responses can be cancelled' },
    ])
    const unknown = await inject('POST', '/resp_none/cancel')
    expect([unknown.statusCode, unknown.json()]).to.deep.equal([404, { detail: 'Response not found' }])
  })

  it('is deleted with all its data, even if the empty body is typed as JSON', async () => {
    const { create, app, inject } = await makeResponses()
    const { id } = await create('say a')
    const headers = { 'content-type': 'application/json' }
    const reply = await app.inject({ method: 'DELETE', url: `${RESPONSES}/${id}`, headers, payload: '' })
    expect([reply.statusCode, reply.json()]).to.deep.equal([200, { id, object: 'response', deleted: true }])
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/input_items'],
      ['POST', '/cancel'],
      ['GET', '?stream=true'],
    ] as const) {
      const gone = await inject(method, `/${id}${path}`)
      expect([gone.statusCode, gone.json()], path).to.deep.equal([404, { detail: 'Response not found' }])
    }
  })

  it('is aborted if deleted while running', async () => {
    const { listen, inject } = await makeResponses()
    const url = `${await listen()}${RESPONSES}`
    const aborted = talkState().aborted
    const stream = await openStream(url, { model: 'talk', input: 'hang', stream: true, background: true })
    await eventually(() => expect(stream.events()).to.have.length(5))
    const { id } = stream.events()[0].response
    expect((await inject('DELETE', `/${id}`)).statusCode).to.equal(200)
    await stream.done
    expect(
      stream
        .events()
        .slice(-2)
        .map((event) => event.type),
    ).to.deep.equal(['response.cancelled', undefined])
    await eventually(() => expect(talkState().aborted).to.equal(aborted + 1))
    expect((await inject('GET', `/${id}`)).statusCode).to.equal(404)
  })

  it('ends as failed if the server stops first, in the stream and in the store', async () => {
    const { listen, close, get, project } = await makeResponses()
    const url = `${await listen()}${RESPONSES}`
    const stream = await openStream(url, { model: 'talk', input: 'hang', stream: true })
    const [{ id: background }] = await Promise.all([
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'talk', input: 'hang', background: true }),
      }).then((reply) => reply.json() as Json),
      eventually(() => expect(stream.events()).to.have.length(5)),
    ])
    await eventually(async () => expect(textOf(await get(background))).to.equal('begun '))
    await close()
    await stream.done
    const events = stream.events()
    expect(events.slice(-2).map((event) => event.type)).to.deep.equal(['response.failed', undefined])
    const again = await makeResponses({ projectDir: project.dir })
    for (const id of [events[0].response.id, background]) {
      const { status, error } = await again.get(id)
      const message = 'The server shut down before the response was complete'
      expect([status, error]).to.deep.equal(['failed', { code: 'server_error', message }])
    }
  })

  it('finishes if the server gives it time', async () => {
    const { create, get, close, project } = await makeResponses({ drainTimeout: 5 })
    const { id } = await create('count 20', { background: true })
    await eventually(async () => expect(textOf(await get(id))).to.not.equal(''))
    await close()
    const again = await makeResponses({ projectDir: project.dir })
    expect((await again.get(id)).status).to.equal('completed')
  })

  it('stores nothing if the client of a plain request disconnects', async () => {
    const { listen, inject } = await makeResponses({ responsesApiKey: 'k' })
    const url = `${await listen()}${RESPONSES}`
    const { aborted, runs } = talkState()
    const leaving = new AbortController()
    const headers = { 'content-type': 'application/json', authorization: 'Bearer k' }
    const body = JSON.stringify({ model: 'talk', input: 'hang' })
    const asked = fetch(url, { method: 'POST', headers, body, signal: leaving.signal }).catch(() => 'left')
    await eventually(() => expect(talkState().runs).to.equal(runs + 1))
    await wait(20)
    leaving.abort()
    expect(await asked).to.equal('left')
    await eventually(() => expect(talkState().aborted).to.equal(aborted + 1))
    expect((await inject('GET', '', undefined, { authorization: 'Bearer k' })).json().data).to.deep.equal([])
  })

  describe('with two servers on one store', () => {
    it('can be fetched, joined, continued, cancelled and deleted through either', async () => {
      const one = await makeResponses()
      const other = await makeResponses({ projectDir: one.project.dir, noWorker: true })
      const { id } = await one.create('count 40', { background: true })
      expect((await other.get(id)).status).to.equal('in_progress')
      const url = `${await other.listen()}${RESPONSES}`
      const joined = await openStream(`${url}/${id}?stream=true`)
      await eventually(async () => expect(textOf(await other.get(id))).to.not.equal(''))
      const record = await one.whenEnded(id)
      expect(record.status).to.equal('completed')
      await joined.done
      expect(joined.events()).to.deep.equal(await one.join(id))
      expect(textOf(await other.create('history', { previous_response_id: id }))).to.include('user: count 40')

      const aborted = talkState().aborted
      const hanging = await one.create('hang', { background: true })
      await eventually(async () => expect(textOf(await other.get(hanging.id))).to.equal('begun '))
      expect((await other.inject('POST', `/${hanging.id}/cancel`)).json().status).to.equal('cancelled')
      await eventually(() => expect(talkState().aborted).to.equal(aborted + 1), 5000)
      expect((await one.get(hanging.id)).status).to.equal('cancelled')

      const doomed = await one.create('hang', { background: true })
      await eventually(async () => expect(textOf(await other.get(doomed.id))).to.equal('begun '))
      expect((await other.inject('DELETE', `/${doomed.id}`)).statusCode).to.equal(200)
      await eventually(() => expect(talkState().aborted).to.equal(aborted + 2), 5000)
      expect((await one.inject('GET', `/${doomed.id}`)).statusCode).to.equal(404)
    })
  })

  it('ends a joined stream with an error event if the response becomes unreadable', async () => {
    const one = await makeResponses()
    // The one that runs the agent would not read its row.
    const other = await makeResponses({ projectDir: one.project.dir, noWorker: true })
    const { id } = await one.create('hang', { background: true })
    const url = `${await other.listen()}${RESPONSES}`
    const joined = await openStream(`${url}/${id}?stream=true`)
    await eventually(() => expect(joined.events()).to.have.length(5))
    const db = new Database(one.project.path('responses/responses.db'))
    db.prepare('UPDATE keyv SET value = ? WHERE key = ?').run(['{"value":1}', `keyv:response:${id}`])
    db.close()
    await joined.done
    const message = `The stored response '${id}' is damaged.`
    expect(joined.events().slice(5)).to.deep.equal([
      { type: 'error', sequence_number: 6, code: 'server_error', message, param: null },
      '[DONE]',
    ])
  })

  describe('with an Idempotency-Key', () => {
    const key = (value: string) => ({ 'idempotency-key': value })

    it('runs once, and returns the stored answer the second time', async () => {
      const { inject } = await makeResponses()
      const runs = talkState().runs
      const body = { model: 'talk', input: 'say a' }
      const first = await inject('POST', '', body, key('k1'))
      const again = await inject('POST', '', body, key('k1'))
      expect(first.headers['idempotent-replayed']).to.equal(undefined)
      expect([again.statusCode, again.headers['idempotent-replayed'], again.json()]).to.deep.equal([
        200,
        'true',
        first.json(),
      ])
      const streamed = await inject('POST', '', { ...body, stream: true }, key('k2'))
      const streamedAgain = await inject('POST', '', { ...body, stream: true }, key('k2'))
      expect([streamedAgain.body, streamedAgain.headers['idempotent-replayed']]).to.deep.equal([streamed.body, 'true'])
      expect(talkState().runs).to.equal(runs + 2)
    })

    it('runs once, however many requests come at the same time', async () => {
      const { inject } = await makeResponses()
      const runs = talkState().runs
      const ask = () => inject('POST', '', { model: 'talk', input: 'count 3' }, key('k'))
      const replies = await Promise.all(Array.from({ length: 20 }, ask))
      expect(new Set(replies.map((reply) => reply.body)).size).to.equal(1)
      expect(talkState().runs).to.equal(runs + 1)
    })

    it('rejects another body', async () => {
      const { inject } = await makeResponses()
      await inject('POST', '', { model: 'talk', input: 'say a' }, key('k'))
      const reply = await inject('POST', '', { model: 'talk', input: 'say b' }, key('k'))
      expect([reply.statusCode, reply.json()]).to.deep.equal([
        409,
        { detail: 'This Idempotency-Key was used with another body' },
      ])
    })

    it('fails again as it failed', async () => {
      const { inject } = await makeResponses()
      const ask = () => inject('POST', '', { model: 'talk', input: 'fail' }, key('k'))
      const [first, again] = [await ask(), await ask()]
      expect([again.statusCode, again.json(), again.headers['x-response-id']]).to.deep.equal([
        500,
        { detail: 'Agent execution failed' },
        first.headers['x-response-id'],
      ])
    })

    it('waits on another server for the answer, never less: while the store fails it is 503', async () => {
      const one = await makeResponses()
      const other = await makeResponses({ projectDir: one.project.dir })
      const ask = ({ inject }: typeof one) => inject('POST', '', { model: 'talk', input: 'count 440' }, key('k5'))
      const runs = talkState().runs
      const first = ask(one)
      await eventually(() => expect(talkState().runs).to.equal(runs + 1))
      const { entriesOfEach } = SqliteStore.prototype
      let failures = 0
      SqliteStore.prototype.entriesOfEach = async () => {
        failures++
        throw new Error('disk I/O error')
      }
      try {
        const refused = await ask(other)
        expect([refused.statusCode, refused.json().detail]).to.deep.equal([
          503,
          'The store of responses cannot be reached',
        ])
        expect(failures).to.be.greaterThan(1)
      } finally {
        SqliteStore.prototype.entriesOfEach = entriesOfEach
      }
      const again = await ask(other)
      expect([again.statusCode, again.headers['idempotent-replayed']]).to.deep.equal([200, 'true'])
      expect(again.body).to.equal((await first).body)
      expect(talkState().runs).to.equal(runs + 1)
    })

    it('runs again if it was deleted, or never stored', async () => {
      const { inject } = await makeResponses()
      const ask = (input: string) => inject('POST', '', { model: 'talk', input }, key('k'))
      expect((await ask('')).statusCode).to.equal(400)
      const first = (await ask('say a')).json()
      await inject('DELETE', `/${first.id}`)
      const next = (await ask('say a')).json()
      expect([next.status, next.id === first.id]).to.deep.equal(['completed', false])
    })

    it('rejects an invalid key, and a key with store: false', async () => {
      const { inject } = await makeResponses()
      const body = { model: 'talk', input: 'say a' }
      expect((await inject('POST', '', body, key(''))).statusCode).to.equal(400)
      expect((await inject('POST', '', body, key('x'.repeat(256)))).statusCode).to.equal(400)
      expect((await inject('POST', '', { ...body, store: false }, key('k'))).json().detail).to.match(/needs store/)
    })
  })

  describe('with a key of the adapter', () => {
    it('requires it', async () => {
      const { inject } = await makeResponses({ responsesApiKey: 'secret-key' })
      const body = { model: 'talk', input: 'say a' }
      const missing = await inject('POST', '', body)
      expect([missing.statusCode, missing.json(), missing.headers['www-authenticate']]).to.deep.equal([
        401,
        { detail: 'Missing Authorization header' },
        'Bearer',
      ])
      const wrong = await inject('GET', '/resp_none', undefined, { authorization: 'Bearer other' })
      expect([wrong.statusCode, wrong.json()]).to.deep.equal([401, { detail: 'Invalid API key' }])
      expect((await inject('POST', '', body, { authorization: 'bearer secret-key' })).statusCode).to.equal(200)
    })

    it('lists the responses, newest first, page by page', async () => {
      const { inject } = await makeResponses({ responsesApiKey: 'k' })
      const headers = { authorization: 'Bearer k' }
      const ids: string[] = []
      for (let n = 0; n < 45; n++)
        ids.push((await inject('POST', '', { model: 'talk', input: `say ${n}` }, headers)).json().id)
      const list = async (query: string) => (await inject('GET', `?${query}`, undefined, headers)).json()
      const read: string[] = []
      for (let after = ''; ; after = `&after=${read.at(-1)}`) {
        const page = await list(`limit=20${after}`)
        expect(page).to.deep.include({ object: 'list', first_id: page.data[0].id, last_id: page.data.at(-1).id })
        read.push(...page.data.map((record: Json) => record.id))
        if (!page.has_more) break
      }
      expect(read).to.deep.equal([...ids].reverse())
      expect((await list('order=asc&limit=2')).data.map((record: Json) => record.id)).to.deep.equal(ids.slice(0, 2))
      expect((await list(`order=asc&after=${ids[1]}&limit=1`)).data[0].id).to.equal(ids[2])
      expect((await list('after=resp_none')).detail).to.equal('after must be an id of this list')
      expect((await list('limit=0')).detail).to.equal('limit must be a whole number from 1 to 100.')
    })

    it('names the methods of a path of its own, and says that tokens are not counted before a run', async () => {
      const { app } = await makeResponses()
      const ask = (method: 'PUT' | 'POST', path: string) =>
        app.inject({ method, url: `/v1/responses/${path}`, payload: {} })
      expect((await ask('PUT', 'compact')).headers.allow).to.equal('POST')
      expect((await ask('PUT', 'resp_x')).headers.allow).to.match(/GET.*DELETE/)
      const counted = await ask('POST', 'input_tokens')
      expect([counted.statusCode, counted.json().error.message]).to.deep.equal([
        404,
        'Tokens are counted while an agent runs, and reported as usage',
      ])
    })

    it('does not list them without one', async () => {
      const { inject } = await makeResponses()
      expect((await inject('GET', '')).statusCode).to.equal(405)
    })
  })
})
