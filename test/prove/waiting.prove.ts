// 10,000 waiting runs cost little, and 20 times `kill -9` while asking, deciding or executing: approved calls ran once, rejected never.
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { askApprovals } from '../support/ask-approvals.ts'
import { proveDecisionKills } from '../support/kill-decisions.ts'
import type { Json } from '../support/responses.ts'
import { startResponses } from '../support/responses-process.ts'
import { killRunning } from '../support/run-cli.ts'
import { SHOP_MODULES, shopAgent } from '../support/shop.ts'
import { makeProject } from '../support/temp-project.ts'

const RUNS = 10_000
const LANES = 16
const MIB = 1024 * 1024

describe('waiting runs', () => {
  afterEach(killRunning)

  it(`${RUNS} of them: 20 MB of memory at most, a restart 1 s longer at most, a page of the inbox in 100 ms`, async () => {
    const { dir } = await makeProject({
      ...SHOP_MODULES,
      'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }'),
    })
    const empty = await measureStart(dir)
    await fill(dir)
    const full = await measureStart(dir)
    const memoryMb = (full.bytes - empty.bytes) / MIB
    const figures = { memoryMb, restartMs: full.startMs - empty.startMs, pageMs: full.pageMs }
    console.log(
      Object.entries(figures)
        .map(([name, value]) => `      ${name}: ${value.toFixed(1)}`)
        .join('\n'),
    )
    expect(full.waiting).to.equal(100)
    expect(figures.memoryMb).to.be.below(20)
    expect(figures.restartMs).to.be.below(1000)
    expect(figures.pageMs).to.be.below(100)
  }).timeout(300_000)

  it('20 kills: approved calls ran once, rejected calls never', async () => {
    expect(await proveDecisionKills(20)).to.deep.equal({ approved: 10, rejected: 10 })
  }).timeout(400_000)
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

/** A server as it is a few seconds after its start, and the slowest of ten pages of its inbox. */
async function measureStart(dir: string) {
  const startedMs = performance.now()
  const server = await startResponses(dir)
  await askApprovals(server, '?limit=1')
  const startMs = performance.now() - startedMs
  await new Promise((resolve) => setTimeout(resolve, 8000))
  const pages: number[] = []
  let page: Json
  for (let n = 0; n < 10; n++) {
    const beganMs = performance.now()
    page = await askApprovals(server, '?limit=100')
    pages.push(performance.now() - beganMs)
  }
  const bytes = await residentBytes(server.pid)
  await server.stop('SIGTERM')
  return { startMs, bytes, pageMs: Math.max(...pages), waiting: page.data.length }
}

/** Memory of a process, without what it shares with others. */
async function residentBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}
