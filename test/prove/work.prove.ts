// Three servers under kill -9: 500 due times make one run each; 10,000 runs tell their webhook, each event at least once, in the order of its response.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { openProject } from '../../src/assembly/open-project.ts'
import type { AssembledProject } from '../../src/assembly/opened-project.ts'
import { resolveServerOptions } from '../../src/server/options/options.ts'
import { describeWith } from '../support/describe-with.ts'
import { eventually } from '../support/eventually.ts'
import { killRunning, type RunningCli, startCli } from '../support/run-cli.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'
import { makeProject } from '../support/temp-project.ts'

const KINDS = [
  { name: 'PostgreSQL', isThere: hasPostgres(), startServer: startPostgres },
  { name: 'Redis', isThere: hasRedis(), startServer: startRedis },
]
const SERVERS = 3
const SCHEDULES = 50
const DUE_TIMES = 500
const EVERY_S = 5
const RUNS = 10_000
const KILL_EVERY_MS = 4000
/** Time in which the survivors take over what a server left behind. */
const TAKEN_OVER_MS = 60_000
/** Time of a delivery that has failed three times: once as the test has it, and twice for a kill or a busy machine. */
const LATEST_MS = (5 + 60 + 300) * 1000 + TAKEN_OVER_MS
const SECRET = `whsec_${Buffer.from('a secret of 24 characters').toString('base64')}`

const schedules = Array.from(
  { length: SCHEDULES },
  (_, index) => `  - { id: s${index}, every: ${EVERY_S}s, input: report, overlap: queue }`,
)
const PROJECT = {
  'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]',
}

for (const { name, isThere, startServer } of KINDS) {
  describeWith(name, isThere, `work that starts by itself, on ${name}`, function () {
    this.timeout(900_000)
    let store: StoreServer

    before(async () => {
      store = await startServer()
    })
    afterEach(killRunning)
    after(() => store?.remove())

    const part = (of: string) => `${store.url}?${name === 'Redis' ? 'prefix' : 'schema'}=${of}`

    const open = (projectDir: string, of: string) => {
      const given = { projectDir, store: part(of), noWorker: true, logLevel: 'silent', maxQueuedRuns: 100_000 }
      return openProject(resolveServerOptions(given), {})
    }

    /** Keeps three servers running, of which one is killed every few seconds, until the work is done. */
    async function underKills(dir: string, of: string, isDone: () => Promise<boolean>): Promise<number> {
      const args = ['serve', '--adapter', 'ResponsesCompatApiAdapter', '--port', '0', '--store', part(of)]
      const start = async (): Promise<RunningCli> => {
        const server = startCli([...args, '--webhook-allow-private'], { cwd: dir })
        await server.printed(/listening at/)
        return server
      }
      const servers = await Promise.all(Array.from({ length: SERVERS }, start))
      let kills = 0
      while (!(await isDone())) {
        await wait(KILL_EVERY_MS)
        servers.shift()?.signal('SIGKILL')
        kills++
        servers.push(await start())
      }
      return kills
    }

    const listDue = async (project: AssembledProject) => {
      const { store } = project.durableRuns.opened
      const states = await Promise.all((await store.list({ limit: 100_000 })).map((id) => store.state(id)))
      return states.flatMap((state) => (state ? [state.facts.data as { schedule: string; due: string }] : []))
    }

    it(`${DUE_TIMES} due times make one run each`, async () => {
      const agent = `id: work\nschedules:\n${schedules.join('\n')}\nmodules: [{ id: main, module: echo }]`
      const { dir } = await makeProject({ ...PROJECT, 'agents/work.yml': agent })
      const project = await open(dir, 'due')
      await project.durableRuns.open()
      const kills = await underKills(dir, 'due', async () => (await listDue(project)).length >= DUE_TIMES)
      killRunning()
      const bySchedule = new Map<string, number[]>()
      for (const { schedule, due } of await listDue(project))
        bySchedule.set(schedule, [...(bySchedule.get(schedule) ?? []), Date.parse(due)])
      expect(bySchedule.size).to.equal(SCHEDULES)
      const steps = [...bySchedule.values()].flatMap((all) => {
        const sorted = all.sort((a, b) => a - b)
        return sorted.slice(1).map((due, index) => due - (sorted[index] ?? 0))
      })
      console.log(`      kills: ${kills}, due times: ${steps.length + SCHEDULES}`)
      // None is missing between two others, and none is there twice.
      expect(new Set(steps)).to.deep.equal(new Set([EVERY_S * 1000]))
      await project.close()
    })

    it(`${RUNS} runs tell their webhook, each at least once`, async () => {
      const told = new Set<string>()
      const seen = new Set<string>()
      let count = 0
      const receiver = createServer(async (request, response) => {
        const chunks: Buffer[] = []
        for await (const chunk of request) chunks.push(chunk)
        const { id } = JSON.parse(Buffer.concat(chunks).toString()).data
        // Some deliveries fail the first time.
        const isRefused = ++count % 50 === 0 && !seen.has(id)
        seen.add(id)
        if (!isRefused) told.add(id)
        response.writeHead(isRefused ? 503 : 204).end()
      })
      await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done))
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
      const events = '[response.completed, response.failed]'
      const hooks = `webhooks: [{ url: "${url}", secret: ${SECRET}, events: ${events} }]`
      const { dir } = await makeProject({ ...PROJECT, 'webhooks.yml': hooks })
      const project = await open(dir, 'hooks')
      const runs = project.runs.of('')
      const ids = new Set<string>()
      const filling = (async () => {
        while (ids.size < RUNS)
          ids.add((await runs.start({ agent: 'echo', messages: [{ role: 'user', content: 'hi' }] })).id)
      })()
      const kills = await underKills(dir, 'hooks', async () => ids.size >= RUNS)
      await filling
      await eventually(() => expect([...ids].filter((id) => !told.has(id))).to.deep.equal([]), LATEST_MS)
      console.log(`      kills: ${kills}, deliveries: ${count}`)
      killRunning()
      await project.close()
      receiver.close()
    })
  })
}
