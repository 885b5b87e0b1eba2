// Servers that share PostgreSQL or Redis: kill -9 of owners, a paused owner, a store that is down, one key, a rolling restart, any replica.
import { expect } from 'chai'
import { proveCopy } from '../support/copied-project.ts'
import { describeWith } from '../support/describe-with.ts'
import { proveWorkerKills } from '../support/kill-workers.ts'
import { provePausedOwner } from '../support/pause-owner.ts'
import { listBegun, QUIET_PROJECT } from '../support/quiet-agent.ts'
import { RESPONSES, RESPONSES_PROJECT } from '../support/responses.ts'
import { proveRollingRestart, type Restartable } from '../support/rolling-restart.ts'
import { killRunning, runNode, startCli } from '../support/run-cli.ts'
import { proveOutage } from '../support/store-outage.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'
import { makeProject } from '../support/temp-project.ts'

const KINDS = [
  { name: 'PostgreSQL', isThere: hasPostgres(), startServer: startPostgres },
  { name: 'Redis', isThere: hasRedis(), startServer: startRedis },
]
/** Tests of responses. Those beside them look into the files of SQLite, or at a server from within. */
const SUITE = [
  ...['approvals', 'client-tools', 'clients', 'compact', 'conversation', 'conversations', 'create', 'input-items'],
  ...['open-responses', 'open-responses-suite', 'stream', 'web-socket'],
]
const OF_ONE_SERVER = [
  'is whole after 150 turns',
  'keeps the text of a deleted response only',
  'run their own calls of the same step',
  'run nothing twice if a client resends',
]

for (const { name, isThere, startServer } of KINDS) {
  describeWith(name, isThere, `servers that share ${name}`, function () {
    this.timeout(300_000)
    let store: StoreServer
    let dir: string

    before(async () => {
      store = await startServer()
    })

    beforeEach(async () => {
      dir = (await makeProject({ ...RESPONSES_PROJECT, ...QUIET_PROJECT })).dir
    })

    afterEach(killRunning)
    after(() => store?.remove())

    /** A part of the store that no other test uses. */
    const part = (of: string) => `${store.url}?${name === 'Redis' ? 'prefix' : 'schema'}=${of}`

    async function serve(part: string): Promise<Restartable> {
      const adapters = ['--adapter', 'ResponsesCompatApiAdapter,ChatCompatApiAdapter']
      const server = startCli(['serve', ...adapters, '--port', '0', '--store', part], { cwd: dir })
      const [, url = ''] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
      return { url, stop: async () => expect(await server.stop()).to.equal(0) }
    }

    it('20 times kill -9 of an owner under 500 background runs: none lost, none ended twice, none stuck', async () => {
      const outcomes = await proveWorkerKills({ store: part('kills'), kills: 20, runs: 500 })
      console.log(`      ${JSON.stringify(outcomes)}`)
      expect(outcomes['talk completed'] as number).to.be.greaterThan(0)
      // Few are hit four times, and given up.
      expect(outcomes['quiet completed'] as number).to.be.greaterThan(360)
    })

    it('an owner that was paused for 30 s writes nothing when it continues', () =>
      provePausedOwner(part('paused'), 30_000))

    it('while the store is down for 20 s there is 503, and then all is whole without a restart', async () => {
      await proveOutage((await serve(part('outage'))).url, store, 20_000)
    })

    it('an agent runs once for a key, on whichever of two servers its requests arrive', async () => {
      const servers = [await serve(part('keys')), await serve(part('keys'))]
      const ask = async (url = '', key: number) => {
        const headers = { 'content-type': 'application/json', 'idempotency-key': `key-${key}` }
        const body = JSON.stringify({ model: 'quiet', input: `50 ${key}` })
        const reply = await fetch(url + RESPONSES, { method: 'POST', body, headers })
        return [reply.status, await reply.text()]
      }
      for (let key = 0; key < 50; key++) {
        const [first, ...others] = await Promise.all([0, 1, 0, 1].map((index) => ask(servers[index]?.url, key)))
        expect(first?.[0]).to.equal(200)
        for (const other of others) expect(other).to.deep.equal(first)
      }
      expect(listBegun(dir)).to.have.length(50)
    })

    it('a rolling restart under load fails no request', async () => {
      const asked = await proveRollingRestart(() => serve(part('rolling')), { servers: 3, restarts: 6, loadMs: 1000 })
      console.log(`      ${asked} requests`)
    })

    it('the tests of responses pass through a proxy without affinity over three processes', async () => {
      const files = SUITE.map((file) => `test/server/responses-compat/${file}.test.ts`)
      const specs = files.flatMap((file) => ['--spec', file])
      // The first test waits for the start of the three processes.
      const others = ['--grep', OF_ONE_SERVER.join('|'), '--invert', '--timeout', '60000']
      const mocha = ['node_modules/mocha/bin/mocha.js', '--config', 'test/prove/mocharc.cjs', ...others, ...specs]
      const env = { AGENT_HOST_TEST_STORE: store.url }
      const { exitCode, stdout, stderr } = await runNode(mocha, { cwd: process.cwd(), env })
      expect(exitCode, stdout + stderr).to.equal(0)
      console.log(`      ${/\d+ passing/.exec(stdout)?.[0]}`)
    })

    it('a copy from SQLite keeps every byte, and answers the same', () => proveCopy(part('copied')))
  })
}
