import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { eventually } from './eventually.ts'
import { listBegun, QUIET_PROJECT } from './quiet-agent.ts'
import { RESPONSES_PROJECT, textOf } from './responses.ts'
import { startResponses } from './responses-process.ts'
import { type RunningCli, startCli } from './run-cli.ts'
import { makeProject } from './temp-project.ts'

/** Longer than the lease of a server. */
const SILENT_MS = 25_000

/** Stops the process of an owner for a while, and expects that another takes its place and that it writes nothing when it goes on. */
export async function provePausedOwner(store: string, pausedMs: number): Promise<void> {
  const { dir } = await makeProject({ ...RESPONSES_PROJECT, ...QUIET_PROJECT })
  const startWorker = async (): Promise<RunningCli> => {
    const worker = startCli(['worker', '--store', store], { cwd: dir })
    await worker.printed(/listening/)
    return worker
  }
  const front = await startResponses(dir, ['--store', store, '--no-worker'])
  const enqueue = async (model: string, input: string): Promise<string> =>
    (await front.ask('', { model, input, background: true })).json.id
  const get = async (id: string) => (await front.ask(`/${id}`)).json
  const paused = await startWorker()
  const [talkative, silent] = [await enqueue('talk', 'count 4000'), await enqueue('quiet', `${SILENT_MS} a`)]
  await eventually(async () => expect(textOf(await get(talkative))).to.include('w5 '))
  await eventually(() => expect(listBegun(dir)).to.deep.equal([`${SILENT_MS} a`]))
  paused.signal('SIGSTOP')
  const goOnMs = Date.now() + pausedMs
  const other = await startWorker()
  // What had spoken has failed, what had not begins again.
  await eventually(async () => expect((await get(talkative)).status).to.equal('failed'), 15_000)
  await eventually(() => expect(listBegun(dir)).to.deep.equal([`${SILENT_MS} a`, `${SILENT_MS} a`]), 15_000)
  const failed = await get(talkative)
  await wait(Math.max(goOnMs - Date.now(), 0))
  paused.signal('SIGCONT')
  await eventually(async () => expect((await get(silent)).status).to.equal('completed'), 30_000)
  await wait(3000)
  expect(await get(talkative)).to.deep.equal(failed)
  expect(textOf(await get(silent))).to.equal(`done ${SILENT_MS} a`)
  // It works again, by itself.
  await other.stop()
  const again = await enqueue('talk', 'say b')
  await eventually(async () => expect((await get(again)).status).to.equal('completed'))
  expect(await paused.stop()).to.equal(0)
}
