import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { QUEUED, RUNNING } from '../../src/durable/runs/run-keys.ts'
import { parseOwner } from '../../src/durable/runs/run-marks.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { RecordStore } from '../../src/store/record-store.ts'
import { eventually } from './eventually.ts'
import { listBegun, QUIET_PROJECT } from './quiet-agent.ts'
import { type Json, RESPONSES_PROJECT, textOf } from './responses.ts'
import { type ResponsesProcess, startResponses } from './responses-process.ts'
import { type RunningCli, startCli } from './run-cli.ts'
import { makeProject } from './temp-project.ts'

export interface WorkerKills {
  /** `--store`. */
  readonly store: string
  readonly kills: number
  /** Background runs: four of five say nothing before their end, the others speak all the time. */
  readonly runs: number
}

const WORKERS = 4
const CONCURRENCY = 8
const KILL_AFTER_MS = 1000
const CLAIMED_AGAIN_MS = 15_000

/**
 * Kills owners of background runs, one after the other, and expects that every run that was accepted ends, once; that what said
 * nothing begins again within 15 seconds; and that nothing is left behind. Returns how many runs ended in each way.
 */
export async function proveWorkerKills({ store, kills, runs }: WorkerKills): Promise<Record<string, number>> {
  const { dir } = await makeProject({ ...RESPONSES_PROJECT, ...QUIET_PROJECT })
  const args = ['--store', store]
  const front = await startResponses(dir, [...args, '--no-worker'])
  const startWorker = async (): Promise<RunningCli> => {
    const worker = startCli(['worker', ...args, '--concurrency', `${CONCURRENCY}`], { cwd: dir })
    await worker.printed(/listening/)
    return worker
  }
  const workers: RunningCli[] = []
  while (workers.length < Math.min(WORKERS, kills + 1)) workers.push(await startWorker())
  const records = await openStore({ store, dir: join(dir, 'responses'), projectDir: process.cwd() })
  const orphans = new Orphans(records)
  const ends = new Ends(front)
  for (let kill = 0; kill < kills; kill++) {
    await enqueue(front, runs / kills, ends.ids)
    await wait(KILL_AFTER_MS)
    await severalOwnRuns(records)
    await workers.shift()?.stop('SIGKILL')
    // At once: others may take the runs over between two looks.
    await orphans.look()
    workers.push(await startWorker())
  }
  const ended = await ends.all()
  const slowestMs = await orphans.stop()
  expect(orphans.count, 'runs that lost their owner').to.be.at.least(kills)
  expect(slowestMs, 'slowest claim').to.be.lessThan(CLAIMED_AGAIN_MS)
  await expectNothingLeft(records, ends.ids)
  await records.close()
  for (const [id, record] of ended) expect((await front.ask(`/${id}`)).json).to.deep.equal(record)
  return countOutcomes(dir, ends.ids, ended)
}

/** Adds background runs, and their ids to the others. */
async function enqueue(front: ResponsesProcess, count: number, ids: string[]): Promise<void> {
  for (let n = 0; n < count; n++) {
    const body =
      n % 5 === 4
        ? { model: 'talk', input: 'count 80' }
        : { model: 'quiet', input: `${1200 + (n % 7) * 200} ${ids.length}` }
    const { status, json } = await front.ask('', { ...body, background: true })
    expect(status).to.equal(200)
    ids.push(json.id)
  }
}

/** On a busy machine one of two workers may not have looked into the queue yet: killed then, it loses nothing. */
async function severalOwnRuns(records: RecordStore): Promise<void> {
  await eventually(async () => {
    const marks = await records.entries({ prefix: RUNNING, limit: 1000 })
    const owners = new Set(marks.map(([, mark]) => parseOwner(mark).server ?? ''))
    const alive = await Promise.all([...owners].map((server) => records.isServerAlive(server)))
    expect(alive.filter(Boolean), 'workers with runs').to.have.length.at.least(2)
  })
}

async function expectNothingLeft(records: RecordStore, ids: readonly string[]): Promise<void> {
  for (const prefix of [RUNNING, QUEUED, 'steps:']) {
    expect(await records.list({ prefix, limit: 10 }), prefix).to.deep.equal([])
  }
  const rows = await records.list({ prefix: 'response:', limit: 10_000 })
  expect(rows).to.have.members(ids.map((id) => `response:${id}`))
}

/** Begins of a silent run that is given up: it may be hit for the fourth time before it has begun. */
const MIN_BEGINS = 3

/**
 * Silent runs answer unless they were hit four times; one that is hit between its answer and its end is not begun again. The others have failed where
 * they were hit, and keep what they said.
 */
function countOutcomes(dir: string, ids: readonly string[], ended: ReadonlyMap<string, Json>): Record<string, number> {
  const begun = listBegun(dir)
  const counts: Record<string, number> = {}
  for (const [index, id] of ids.entries()) {
    const record = ended.get(id) as Json
    const { model, status } = record
    counts[`${model} ${status}`] = (counts[`${model} ${status}`] ?? 0) + 1
    if (model !== 'quiet') continue
    const begins = begun.filter((asked) => asked.endsWith(` ${index}`))
    const answered = /^done (.*)$/.exec(textOf(record))?.[1]
    if (answered === undefined) expect([status, begins.length >= MIN_BEGINS]).to.deep.equal(['failed', true])
    else {
      expect(begins).to.include(answered)
      counts['quiet answered'] = (counts['quiet answered'] ?? 0) + 1
    }
  }
  counts['begun again'] = begun.length - new Set(begun).size
  return counts
}

/** Looks, while the store is asked again and again, at what still belongs to servers that are dead. */
class Orphans {
  readonly #records: RecordStore
  readonly #sinceMs = new Map<string, number>()
  readonly #working: Promise<void>
  #slowestMs = 0
  #isStopped = false
  /** Number of runs that lost their owner. */
  count = 0

  constructor(records: RecordStore) {
    this.#records = records
    this.#working = this.#keepLooking()
  }

  /** @returns the longest time that a run was without an owner */
  async stop(): Promise<number> {
    this.#isStopped = true
    await this.#working
    return this.#slowestMs
  }

  async #keepLooking(): Promise<void> {
    while (!this.#isStopped) {
      await this.look()
      await wait(100)
    }
  }

  async look(): Promise<void> {
    const orphaned = new Set(await this.#list())
    for (const mark of orphaned) if (!this.#sinceMs.has(mark)) this.#note(mark)
    for (const [mark, sinceMs] of this.#sinceMs) {
      this.#slowestMs = Math.max(this.#slowestMs, Date.now() - sinceMs)
      if (!orphaned.has(mark)) this.#sinceMs.delete(mark)
    }
  }

  #note(mark: string): void {
    this.#sinceMs.set(mark, Date.now())
    this.count++
  }

  async #list(): Promise<string[]> {
    const alive = new Map<string, boolean>()
    const orphaned: string[] = []
    for (const [key, mark] of await this.#records.entries({ prefix: RUNNING, limit: 1000 })) {
      const { server = '' } = parseOwner(mark)
      if (!alive.has(server)) alive.set(server, await this.#records.isServerAlive(server))
      if (!alive.get(server)) orphaned.push(key + mark)
    }
    return orphaned
  }
}

/** The ends of runs as they were seen first. */
class Ends {
  /** Runs to look at. */
  readonly ids: string[] = []
  readonly #seen = new Map<string, Json>()
  readonly #front: ResponsesProcess
  readonly #looking: Promise<void>
  #isStopped = false

  constructor(front: ResponsesProcess) {
    this.#front = front
    this.#looking = this.#keepLooking()
  }

  /** Waits until all have ended. */
  async all(): Promise<ReadonlyMap<string, Json>> {
    try {
      await eventually(() => expect(this.#seen.size).to.equal(this.ids.length), 90_000)
    } finally {
      this.#isStopped = true
    }
    await this.#looking
    return this.#seen
  }

  async #keepLooking(): Promise<void> {
    while (!this.#isStopped) {
      for (const id of this.ids.filter((one) => !this.#seen.has(one))) {
        const { json } = await this.#front.ask(`/${id}`)
        if (json.status !== 'in_progress') this.#seen.set(id, json)
      }
      await wait(200)
    }
  }
}
