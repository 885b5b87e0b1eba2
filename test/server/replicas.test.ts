import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { makeResponses, openStream, RESPONSES, talkState, textOf } from '../support/responses.ts'
import { closeServers } from '../support/server.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'

const KINDS = [
  { name: 'SQLite', isThere: true, startServer: undefined },
  { name: 'PostgreSQL', isThere: hasPostgres(), startServer: startPostgres },
  { name: 'Redis', isThere: hasRedis(), startServer: startRedis },
]

for (const { name, isThere, startServer } of KINDS) {
  const title = `two servers that share ${name}${isThere ? '' : ` (skipped: ${name} is not installed)`}`
  ;(isThere ? describe : describe.skip)(title, function () {
    this.timeout(40_000)
    let server: StoreServer | undefined

    before(async () => {
      server = await startServer?.()
    })

    after(() => server?.remove())
    afterEach(closeServers)

    async function makeReplicas() {
      const responsesDir = mkdtempSync(join(tmpdir(), 'agent-host-test-replicas-'))
      const options = { responsesDir, ...(server ? { store: server.url } : {}) }
      return [await makeResponses(options), await makeResponses(options)] as const
    }

    it('a run is joined on the other at any event, and read to its end', async () => {
      const [one, other] = await makeReplicas()
      const [urlOfOne, urlOfOther] = [await one.listen(), await other.listen()]
      const first = await openStream(`${urlOfOne}${RESPONSES}`, { model: 'talk', input: 'count 40', stream: true })
      await eventually(() => expect(first.events().length).to.be.greaterThan(4))
      const { id } = first.events()[0].response
      const followers = await Promise.all(
        [0, 3, 0].map((after) => openStream(`${urlOfOther}${RESPONSES}/${id}?stream=true&starting_after=${after}`)),
      )
      await Promise.all([first, ...followers].map(({ done }) => done))
      expect(first.events().at(-2).type).to.equal('response.completed')
      for (const [index, after] of [0, 3, 0].entries()) {
        expect(followers[index]?.events()).to.deep.equal(first.events().slice(after))
      }
    })

    it('events come to the other as they come', async () => {
      const [one, other] = await makeReplicas()
      const { id } = await one.create('count 60', { background: true })
      const follower = await openStream(`${await other.listen()}${RESPONSES}/${id}?stream=true`)
      const seen: number[] = []
      await eventually(async () => {
        seen.push(follower.events().length)
        expect((await one.get(id)).status).to.equal('completed')
      })
      await follower.done
      // Polled four times a second they would come in four or five lots.
      expect(new Set(seen).size).to.be.greaterThan(12)
    })

    it('a silent agent is cancelled by the other at once', async () => {
      const [one, other] = await makeReplicas()
      const before = talkState().aborted
      const { id } = await one.create('hang', { background: true })
      await eventually(async () => expect(textOf(await other.get(id))).to.equal('begun '))
      const startedMs = performance.now()
      expect((await other.inject('POST', `/${id}/cancel`)).json().status).to.equal('cancelled')
      await eventually(() => expect(talkState().aborted).to.equal(before + 1))
      expect(performance.now() - startedMs).to.be.lessThan(700)
      expect((await one.get(id)).status).to.equal('cancelled')
    })

    it('a run that is deleted by the other stops, and is gone', async () => {
      const [one, other] = await makeReplicas()
      const before = talkState().aborted
      const { id } = await one.create('hang', { background: true })
      expect((await other.inject('DELETE', `/${id}`)).statusCode).to.equal(200)
      await eventually(() => expect(talkState().aborted).to.equal(before + 1))
      expect((await one.inject('GET', `/${id}`)).statusCode).to.equal(404)
    })

    it('a request that comes to both with one key runs once, and both answer the same', async () => {
      const [one, other] = await makeReplicas()
      const before = talkState().runs
      const ask = ({ inject }: Awaited<ReturnType<typeof makeResponses>>) =>
        inject('POST', '', { model: 'talk', input: 'count 10' }, { 'idempotency-key': 'key-1' })
      const replies = await Promise.all([one, other, one, other].map(ask))
      expect(talkState().runs).to.equal(before + 1)
      expect(replies.map(({ statusCode }) => statusCode)).to.deep.equal([200, 200, 200, 200])
      expect(new Set(replies.map(({ body }) => body)).size).to.equal(1)
      expect(replies.filter(({ headers }) => headers['idempotent-replayed'] === 'true')).to.have.length(3)
    })

    it('a named conversation takes one turn at a time, whichever is asked, and loses none', async () => {
      const [one, other] = await makeReplicas()
      const begun = await one.app.inject({ method: 'POST', url: '/compat/conversations', payload: {} })
      const { id: conversation } = begun.json()
      const ask = async ({ inject }: typeof one) => {
        for (;;) {
          const reply = await inject('POST', '', { model: 'talk', input: 'say a', conversation })
          if (reply.statusCode === 200) return
          expect(reply.statusCode).to.equal(409)
        }
      }
      await Promise.all([one, other, one, other].map(ask))
      const last = await other.create('history', { conversation })
      const turn = ['user: say a', 'assistant: a ']
      expect(JSON.parse(textOf(last))).to.deep.equal([...turn, ...turn, ...turn, ...turn, 'user: history'])
      const items = await one.app.inject(`/compat/conversations/${conversation}/items?limit=100`)
      expect(items.json().data).to.have.length(10)
    })

    it('a conversation goes on at the other', async () => {
      const [one, other] = await makeReplicas()
      const first = await one.create('say a')
      const second = await other.create('history', { previous_response_id: first.id })
      expect(JSON.parse(textOf(second))).to.deep.equal(['user: say a', 'assistant: a ', 'user: history'])
    })
  })
}
