// 10,000 waiting runs cost little; 40 times `kill -9`: approved calls ran once, rejected never; 2,000 random scripts through every door, with kills.
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { askApprovals } from '../support/ask-approvals.ts'
import { describeWith } from '../support/describe-with.ts'
import { openStage } from '../support/doors/open-stage.ts'
import { Player, type Step } from '../support/doors/player.ts'
import { playScripts } from '../support/doors/scripts.ts'
import { proveDecisionKills } from '../support/kill-decisions.ts'
import { type ResponsesProcess, startResponses } from '../support/responses-process.ts'
import { Counter, proveRefused, REFUSALS } from '../support/resumption-proof.ts'
import { WAYS } from '../support/resumption-ways.ts'
import { killRunning } from '../support/run-cli.ts'
import { SHOP_MODULES, shopAgent } from '../support/shop.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'
import { makeProject } from '../support/temp-project.ts'

const RUNS = 10_000
const LANES = 16
const SCRIPTS = 2000
const MIB = 1024 * 1024
/** Starts of each server that are compared: the machine has other work. */
const STARTS = 3
/** Time in which maintenance does each of its tasks at least once. */
const SETTLE_MS = 8000

describe('waiting runs', () => {
  afterEach(killRunning)

  it(`${RUNS} of them: 20 MB of memory at most, a restart 1 s longer at most, a page of the inbox in 100 ms`, async () => {
    const makeShop = () =>
      makeProject({
        ...SHOP_MODULES,
        'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }'),
      })
    const [none, many] = [await makeShop(), await makeShop()]
    await fill(many.dir)
    const [empty, full] = [[] as Figures[], [] as Figures[]]
    for (let start = 0; start < STARTS; start++) {
      empty.push(await measure(none.dir))
      full.push(await measure(many.dir))
    }
    const difference = (name: keyof Figures) => least(full, name) - least(empty, name)
    const figures = {
      memoryMb: difference('bytes') / MIB,
      restartMs: difference('startMs'),
      pageMs: least(full, 'pageMs'),
    }
    console.log(
      Object.entries(figures)
        .map(([name, value]) => `      ${name}: ${value.toFixed(1)}`)
        .join('\n'),
    )
    expect(full.map(({ listed }) => listed)).to.deep.equal(Array(STARTS).fill(100))
    expect(figures.memoryMb).to.be.below(20)
    expect(figures.restartMs).to.be.below(1000)
    expect(figures.pageMs).to.be.below(100)
  }).timeout(500_000)

  it('40 kills: approved calls ran once, rejected calls never', async () => {
    expect(await proveDecisionKills(40)).to.deep.equal({ approved: 20, rejected: 20 })
  }).timeout(800_000)

  for (const [name, isThere, startServer] of [
    ['PostgreSQL', hasPostgres(), startPostgres],
    ['Redis', hasRedis(), startRedis],
  ] as const) {
    describeWith(name, isThere, `decisions on ${name}`, function () {
      this.timeout(60_000)
      let store: StoreServer

      before(async () => {
        store = await startServer()
      })
      after(() => store?.remove())

      it(`${SCRIPTS} random scripts through every door, with kills: the same effects, each once`, async () => {
        const stage = await openStage(store.directUrl)
        let conversations = 0
        const play = (steps: readonly Step[]) => new Player(stage, `c${conversations++}`).play(steps)
        const changing = await playScripts(play, { count: SCRIPTS, isKilling: true }).finally(() => stage.close())
        expect(changing, 'scripts that change the door').to.be.at.least(SCRIPTS / 2)
      }).timeout(3_600_000)

      for (const refusal of REFUSALS) {
        it(`stay untaken when ${refusal.name}`, async () => {
          const counter = await Counter.open(store.directUrl)
          const ways = WAYS.filter((way) => refusal.cannotBe(way, true) === undefined)
          await proveRefused(counter, refusal, ways).finally(() => counter.close())
        })
      }
    })
  }
})

async function fill(dir: string): Promise<void> {
  const server = await startResponses(dir)
  let count = 0
  const lane = async () => {
    while (count++ < RUNS) {
      const { status } = await server.ask('', { model: 'shop', input: 'please' })
      expect(status).to.equal(200)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  await server.stop('SIGTERM')
}

/** Figures of one server: until its first answer, at rest, and the slowest of ten pages of its inbox. */
interface Figures {
  readonly startMs: number
  readonly bytes: number
  readonly pageMs: number
  /** Approvals on a page. */
  readonly listed: number
}

async function measure(dir: string): Promise<Figures> {
  const startedMs = performance.now()
  const server = await startResponses(dir)
  await askApprovals(server, '?limit=1')
  const startMs = performance.now() - startedMs
  await wait(SETTLE_MS)
  const bytes = await residentBytes(server.pid)
  const pages = await readInbox(server)
  await server.stop('SIGTERM')
  return { startMs, bytes, ...pages }
}

async function readInbox(server: ResponsesProcess): Promise<Pick<Figures, 'pageMs' | 'listed'>> {
  const times: number[] = []
  let listed = 0
  for (let n = 0; n < 10; n++) {
    const beganMs = performance.now()
    listed = (await askApprovals(server, '?limit=100')).data.length
    times.push(performance.now() - beganMs)
  }
  return { pageMs: Math.max(...times), listed }
}

function least(all: readonly Figures[], name: keyof Figures): number {
  return Math.min(...all.map((figures) => figures[name]))
}

/** Memory of a process, without what it shares with others. */
async function residentBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}
