import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { describeWith } from '../support/describe-with.ts'
import { eventually } from '../support/eventually.ts'
import { ask } from '../support/graphql.ts'
import type { Json } from '../support/responses.ts'
import { closeServers, makeServer } from '../support/server.ts'
import { SHOP_FILES } from '../support/shop.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'

const FILES = {
  ...SHOP_FILES,
  'adapters/tasks.ts': readFileSync(new URL('../fixtures/tasks-adapter.ts', import.meta.url), 'utf8'),
}
type Server = Awaited<ReturnType<typeof makeServer>>

const KINDS = [
  { name: 'SQLite', isThere: true, startServer: undefined },
  { name: 'PostgreSQL', isThere: hasPostgres(), startServer: startPostgres },
  { name: 'Redis', isThere: hasRedis(), startServer: startRedis },
]

for (const { name, isThere, startServer } of KINDS) {
  describeWith(name, isThere, `an adapter of a project on two servers that share ${name}`, () => {
    let store: StoreServer | undefined

    before(async () => {
      store = await startServer?.()
    })
    afterEach(closeServers)
    after(() => store?.remove())

    async function open() {
      const adapters = ['adapters.tasks.TasksAdapter', 'UiApiAdapter']
      const options = { adapters, debug: true, ...(store ? { store: store.url } : {}) }
      const one = await makeServer({ ...options, serverName: 'web-1' }, FILES)
      const other = await makeServer({ ...options, serverName: 'web-2', projectDir: one.project.dir })
      return { one, other }
    }

    const send = async ({ app }: Server, url: string, payload?: object): Promise<Json> =>
      (await app.inject({ method: payload ? 'POST' : 'GET', url, ...(payload && { payload }) })).json()
    const start = (server: Server, agent: string, after?: string) =>
      send(server, '/tasks', { agent, text: 'please', ...(after === undefined ? {} : { after }) })
    const until = (server: Server, task: string, state: string) =>
      eventually(async () => {
        const found = await send(server, `/tasks/${task}`)
        expect(found.state).to.equal(state)
        return found
      }, 5000)
    const expectContinued = async (servers: readonly Server[], runId: string, ...by: readonly string[]) =>
      eventually(async () => {
        for (const server of servers) {
          const { runs } = (await ask<Json>(server, '{ runs { runs { run_id status continued_by } } }')).runs
          const run = runs.find(({ run_id }: Json) => run_id === runId)
          expect(run.status).to.equal('continued')
          expect(by).to.include(`resp_${run.continued_by}`)
        }
      }, 5000)

    it('a message to a run that waits, sent to the other, is the run that continues it', async () => {
      const { one, other } = await open()
      const { task } = await start(one, 'shop')
      const [call] = (await until(one, task, 'waiting')).open
      const { task: next } = await start(other, 'shop', task)
      await until(one, next, 'completed')
      expect(await until(one, task, 'completed')).to.include({ next })
      expect(await send(other, '/tasks')).to.deep.equal([])
      const late = await send(one, `/tasks/${task}/answers`, { [call.id]: 'yes' })
      expect(late.problem).to.deep.equal({ status: 409, title: 'The approval is already superseded' })
      await expectContinued([one, other], task.replace('resp_', ''), next)
    })

    it('a message to a turn that was kept waiting is the run that continues it', async () => {
      const { one, other } = await open()
      const { open: calls } = await send(one, '/ask', { agent: 'clerk', text: 'please' })
      const [{ task }] = await send(other, '/tasks')
      const { runs } = (await ask<Json>(one, '{ runs(filter: { agent_id: "clerk" }) { runs { run_id } } }')).runs
      expect([calls.length, runs.length]).to.deep.equal([1, 1])
      const { task: next } = await start(other, 'shop', task)
      await until(one, next, 'completed')
      await expectContinued([one, other], runs[0].run_id, next)
    })

    it('a message and a decision at the same moment are both answered, and one continues the run', async () => {
      const { one, other } = await open()
      for (let round = 0; round < 4; round++) {
        const { task } = await start(one, 'shop')
        const [call] = (await until(one, task, 'waiting')).open
        const [decided, message] = await Promise.all([
          send(one, `/tasks/${task}/answers`, { [call.id]: 'yes' }),
          start(other, 'shop', task),
        ])
        await until(one, message.task, 'completed')
        const { next } = await until(other, task, 'completed')
        expect(decided.next ?? message.task).to.equal(next)
        if (decided.next) await until(other, decided.next, 'completed')
        await expectContinued([one, other], task.replace('resp_', ''), decided.next ?? message.task, message.task)
      }
    })
  })
}
