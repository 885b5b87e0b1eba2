import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { describeWith } from '../support/describe-with.ts'
import { eventually } from '../support/eventually.ts'
import { ask } from '../support/graphql.ts'
import {
  type Json,
  makeResponses,
  openStream,
  RESPONSES,
  RESPONSES_PROJECT,
  talkState,
  textOf,
} from '../support/responses.ts'
import { proveRollingRestart } from '../support/rolling-restart.ts'
import { closeServers } from '../support/server.ts'
import { SHOP_MODULES, shopAgent } from '../support/shop.ts'
import { proveOutage } from '../support/store-outage.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'
import { makeProject, makeSharedProject, removeFolder, type TempProject } from '../support/temp-project.ts'

type ResponsesServer = Awaited<ReturnType<typeof makeResponses>>

const SHOP_FILES = { ...SHOP_MODULES, 'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }') }

const KINDS = [
  { name: 'SQLite', isThere: true, startServer: undefined },
  { name: 'PostgreSQL', isThere: hasPostgres(), startServer: startPostgres },
  { name: 'Redis', isThere: hasRedis(), startServer: startRedis },
]

for (const { name, isThere, startServer } of KINDS) {
  describeWith(name, isThere, `two servers that share ${name}`, () => {
    let server: StoreServer | undefined

    before(async () => {
      server = await startServer?.()
    })

    after(() => server?.remove())

    describe('side by side', () => {
      let project: TempProject
      let one: ResponsesServer
      let other: ResponsesServer
      let urlOfOne: string
      let urlOfOther: string

      before(async () => {
        project = await makeSharedProject(RESPONSES_PROJECT)
        const options = { projectDir: project.dir, ...(server ? { store: server.url } : {}) }
        ;[one, other] = [await makeResponses(options), await makeResponses(options)]
        ;[urlOfOne, urlOfOther] = [await one.listen(), await other.listen()]
      })

      after(async () => {
        await closeServers()
        await removeFolder(project.dir)
      })

      it('a run can be joined on the other at any event, and read to its end', async () => {
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

      it('events reach the other as they happen', async () => {
        const { id } = await one.create('count 60', { background: true })
        const follower = await openStream(`${urlOfOther}${RESPONSES}/${id}?stream=true`)
        const seen: number[] = []
        await eventually(async () => {
          seen.push(follower.events().length)
          expect((await one.get(id)).status).to.equal('completed')
        })
        await follower.done
        // Polled four times a second they would come in four or five lots.
        expect(new Set(seen).size).to.be.greaterThan(12)
      })

      it('the other cancels a silent agent at once', async () => {
        const cancel = async () => {
          const before = talkState().aborted
          const { id } = await one.create('hang', { background: true })
          await eventually(async () => expect(textOf(await other.get(id))).to.equal('begun '))
          const startedMs = performance.now()
          expect((await other.inject('POST', `/${id}/cancel`)).json().status).to.equal('cancelled')
          await eventually(() => expect(talkState().aborted).to.equal(before + 1))
          const tookMs = performance.now() - startedMs
          expect((await one.get(id)).status).to.equal('cancelled')
          return tookMs
        }
        // Polled once a second all three would take longer; the machine may stall in one.
        expect(Math.min(await cancel(), await cancel(), await cancel())).to.be.lessThan(700)
      })

      it('a run deleted by the other stops and disappears', async () => {
        const before = talkState().aborted
        const { id } = await one.create('hang', { background: true })
        await eventually(async () => expect(textOf(await other.get(id))).to.equal('begun '))
        expect((await other.inject('DELETE', `/${id}`)).statusCode).to.equal(200)
        await eventually(() => expect(talkState().aborted).to.equal(before + 1))
        expect((await one.inject('GET', `/${id}`)).statusCode).to.equal(404)
      })

      it('a request sent to both with one key runs once, with the same answer from both', async () => {
        const before = talkState().runs
        const ask = ({ inject }: ResponsesServer) =>
          inject('POST', '', { model: 'talk', input: 'count 10' }, { 'idempotency-key': 'key-1' })
        const replies = await Promise.all([one, other, one, other].map(ask))
        expect(talkState().runs).to.equal(before + 1)
        expect(replies.map(({ statusCode }) => statusCode)).to.deep.equal([200, 200, 200, 200])
        expect(new Set(replies.map(({ body }) => body)).size).to.equal(1)
        expect(replies.filter(({ headers }) => headers['idempotent-replayed'] === 'true')).to.have.length(3)
      })

      it('a conversation takes one turn at a time on any server, and loses none', async () => {
        const begun = await one.app.inject({ method: 'POST', url: '/compat/conversations', payload: {} })
        const { id: conversation } = begun.json()
        const ask = async ({ inject }: ResponsesServer) => {
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

      it('background responses run once each, on either', async () => {
        const before = talkState().runs
        const begun = await Promise.all(Array.from({ length: 60 }, () => one.create('count 2', { background: true })))
        for (const { id } of begun) expect((await one.whenEnded(id)).status).to.equal('completed')
        expect(talkState().runs).to.equal(before + 60)
      })

      it('a conversation continues on the other', async () => {
        const first = await one.create('say a')
        const second = await other.create('history', { previous_response_id: first.id })
        expect(JSON.parse(textOf(second))).to.deep.equal(['user: say a', 'assistant: a ', 'user: history'])
      })
    })

    describe('started for one test', () => {
      afterEach(closeServers)

      if (startServer) {
        it('each lists the runs of both, and reads their events from the server that has them', async () => {
          const { url = '' } = server ?? {}
          const replica = (serverName: string) => makeResponses({ store: url, debug: true, serverName })
          const [one, other] = [await replica('web-1'), await replica('web-2')]
          await one.create('say hello')
          const query =
            '{ server { name shares_runs } runs { runs { server input events { elsewhere events { method_name } } } } }'
          await eventually(async () => {
            const { server: facts, runs } = await ask<Json>(other, query)
            expect(facts).to.deep.equal({ name: 'web-2', shares_runs: true })
            expect(runs.runs).to.deep.equal((await ask<Json>(one, query)).runs.runs)
            expect(runs.runs[0]).to.include({ server: 'web-1', input: 'say hello' })
            expect(runs.runs[0].events.events).to.have.length.greaterThan(3)
          }, 5000)
          const elsewhere = await makeProject({ 'agents/none.txt': '' })
          const list = await callCli(['runs', '--store', url], { cwd: elsewhere.dir })
          expect(list.stdout).to.match(/SERVER.*\n[\w-]+ .* completed .*web-1 +say hello\n$/)
          const show = await callCli(['runs', 'show', list.stdout.split('\n')[1]?.slice(0, 8) ?? '', '--store', url], {
            cwd: elsewhere.dir,
          })
          expect(show.stdout)
            .to.match(/^talk {2}\S+ {2}on web-1\n/)
            .and.to.contain('handleText("say hello")')
        })
      }

      it('a background response runs on the server with a worker, and waits while neither has one', async () => {
        const responsesDir = mkdtempSync(join(tmpdir(), 'agent-host-test-replicas-'))
        const options = { responsesDir, ...(server ? { store: server.url } : {}) }
        const front = await makeResponses({ ...options, noWorker: true })
        const before = talkState().runs
        const [first, given] = [await front.create('count 3', { background: true }), { model: 'talk', input: 'hang' }]
        const v1 = async (path = '', payload?: object) =>
          (
            await front.app.inject({
              method: payload ? 'POST' : 'GET',
              url: `/v1/responses${path}`,
              ...(payload && { payload }),
            })
          ).json()
        const second = await v1('', { ...given, background: true })
        expect([first.status, second.status, (await v1(`/${first.id}`)).status]).to.deep.equal([
          'in_progress',
          'queued',
          'queued',
        ])
        expect((await front.inject('POST', `/${second.id}/cancel`)).json().status).to.equal('cancelled')
        const stream = await openStream(`${await front.listen()}${RESPONSES}/${first.id}?stream=true`)
        expect(talkState().runs).to.equal(before)
        const worker = await makeResponses(options)
        await stream.done
        expect(stream.events().at(-2).type).to.equal('response.completed')
        expect(textOf(await worker.get(first.id))).to.equal('w0 w1 w2 ')
        expect(talkState().runs).to.equal(before + 1)
      })

      it('an approval requested by one is decided on the other, and executed once', async () => {
        const responsesDir = mkdtempSync(join(tmpdir(), 'agent-host-test-replicas-'))
        const options = { responsesDir, ...(server ? { store: server.url } : {}) }
        const one = await makeResponses(options, SHOP_FILES)
        const other = await makeResponses({ ...options, projectDir: one.project.dir })
        const waiting = await one.create('please', { model: 'shop' })
        const [request] = waiting.output.filter(({ type }: Json) => type === 'mcp_approval_request')
        const decide = ({ app }: typeof one) =>
          app.inject({ method: 'POST', url: `/compat/approvals/${request.id}`, payload: { decision: 'approve' } })
        const replies = await Promise.all([decide(other), decide(one), decide(other)])
        expect(replies.map(({ statusCode }) => statusCode).sort()).to.deep.equal([200, 409, 409])
        const decided = replies.find(({ statusCode }) => statusCode === 200)?.json()
        expect(textOf(await one.whenEnded(decided.continued_by))).to.equal('Results: pay 40')
        expect(await one.project.read('paid.txt')).to.equal('pay 40\n')
      })

      if (startServer) {
        it('replacing a server under load fails no request', async () => {
          const start = async () => {
            const { listen, close } = await makeResponses({ drainTimeout: 5, store: server?.url as string })
            return { url: await listen(), stop: close }
          }
          expect(await proveRollingRestart(start, { servers: 2, restarts: 1, loadMs: 300 })).to.be.greaterThan(20)
        })

        it('a short outage: 503 meanwhile, then recovery without a restart or loss', async () => {
          const adapters = ['ResponsesCompatApiAdapter', 'ChatCompatApiAdapter']
          const one = await makeResponses({ adapters, store: server?.url as string })
          await proveOutage(await one.listen(), server as StoreServer, 500)
        })
      }
    })
  })
}
