import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { silentLog } from '../src/protocols/log.ts'
import type { AgentEvent } from '../src/run/calls/agent-events.ts'
import { Traces } from '../src/trace/traces.ts'
import { chromiumPath, launchBrowser } from '../test/support/browser.ts'
import { echoRun } from '../test/support/events.ts'
import { ChildServer } from './child-server.ts'
import { compare, type Load } from './compare.ts'
import { makeProject } from './temp-project.ts'

const path = '/compat/chat/completions'
const chat = (model: string) => JSON.stringify({ model, messages: [{ role: 'user', content: 'What is the time?' }] })
const TRACED: readonly (Load & { connections: number })[] = [
  {
    title: 'chat JSON of an echo, tracing on against off',
    cpuGoal: 1.4,
    path,
    bodies: [chat('echo')],
    connections: 10,
  },
  {
    title: 'a run of 20 calls of a model, on against off',
    cpuGoal: 1.1,
    path,
    bodies: [chat('patient')],
    connections: 10,
  },
]
const PROJECT = fileURLToPath(new URL('project', import.meta.url))
const redact = (text: string) => text

export async function benchDebug(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-host-bench-'))
  try {
    await benchTracing()
    await benchRate(join(folder, 'rate'))
    await benchLargeTrace(join(folder, 'large'))
    await benchPage(join(folder, 'page'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function benchTracing(): Promise<void> {
  console.log('\n## Debug mode: tracing on against off\n')
  const floor = await ChildServer.start('agent-host', [makeProject()])
  const own = await ChildServer.start('agent-host', [makeProject(), '', 'debug'])
  for (const { connections, ...load } of TRACED) await compare(load, connections, floor, own)
  await Promise.all([floor.stop(), own.stop()])
}

/** 200,000 events, 5,000 a second, as 50,000 runs. */
async function benchRate(dir: string): Promise<void> {
  const traces = await Traces.open({ dir, maxBytes: 1024 ** 3, redact, log: silentLog })
  const before = process.cpuUsage()
  const startedMs = performance.now()
  for (let run = 0; run < 50_000; run++) {
    for (const event of echoRun(`run-${run}`, 'what a run may say', 1_700_000_000 + run)) traces.record(event)
    const aheadMs = startedMs + (run * 4) / 5 - performance.now()
    if (aheadMs > 5) await setTimeout(aheadMs)
  }
  await traces.query('count', {})
  const { written, dropped } = traces.counts()
  const seconds = (performance.now() - startedMs) / 1000
  const { user, system } = process.cpuUsage(before)
  console.log(`200,000 events at 5,000/s: ${written} written, ${dropped} dropped, in ${seconds.toFixed(1)} s`)
  console.log(`  CPU time of both threads ${((user + system) / 200_000).toFixed(1)} µs an event\n`)
  await traces.close()
}

/** A trace of 1 GB: read by a process that has seen nothing of it. */
async function benchLargeTrace(dir: string): Promise<void> {
  await writeLargeTrace(dir)
  const index = await readLarge(dir, 'index')
  console.log(`a trace of 1 GB: indexed in ${(index.ms / 1000).toFixed(1)} s, once`)
  for (const question of ['runs', 'text', 'events', 'log']) {
    const { ms, rssMb } = await readLarge(dir, question)
    console.log(`  ${question.padEnd(7)} ${ms.toFixed(0).padStart(5)} ms, +${rssMb.toFixed(0)} MB (goal 300 ms, 50 MB)`)
  }
  console.log()
}

async function writeLargeTrace(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const file = createWriteStream(join(dir, 'echo.jsonl'))
  let bytes = 0
  for (let run = 0; bytes < 1e9; run++) {
    const text = `question ${run} ${'and more words '.repeat(60)}`
    const lines = echoRun(`run-${run}`, text, 1_700_000_000 + run).map((event: AgentEvent) => JSON.stringify(event))
    const chunk = `${lines.join('\n')}\n`
    bytes += chunk.length
    if (!file.write(chunk)) await once(file, 'drain')
  }
  await new Promise<void>((done) => file.end(done))
}

async function readLarge(dir: string, question: string): Promise<{ ms: number; rssMb: number }> {
  const child = fork(fileURLToPath(new URL('read-trace.js', import.meta.url)), [dir, question], { execArgv: [] })
  const [answer] = (await once(child, 'message')) as [{ ms: number; rssMb: number }]
  await once(child, 'exit')
  return answer
}

async function benchPage(project: string): Promise<void> {
  const assets = fileURLToPath(new URL('../dist/ui/assets', import.meta.url))
  const sizes = await Promise.all(
    (await readdir(assets))
      .filter((name) => name.endsWith('.br'))
      .map(async (name) => (await stat(join(assets, name))).size),
  )
  console.log(
    `the page, everything in it, compressed: ${(sizes.reduce((sum, size) => sum + size) / 1024).toFixed(0)} KB (goal 120 KB for the first load)`,
  )
  if (!chromiumPath) return console.log('no Chromium was found: the first paint is not measured')
  await cp(PROJECT, project, { recursive: true })
  const traces = await Traces.open({ dir: join(project, 'debug'), maxBytes: 1024 ** 3, redact, log: silentLog })
  const now = Date.now() / 1000
  for (let run = 0; run < 10_000; run++) {
    for (const event of echoRun(`run-${run}`, `question ${run}`, now - run)) traces.record(event)
    if (run % 500 === 0) await traces.query('count', {})
  }
  await traces.close()
  const server = await ChildServer.start('agent-host', [project, 'ChatCompatApiAdapter', 'debug'])
  const browser = await launchBrowser()
  try {
    const page = await browser.newPage()
    let received = 0
    const session = await page.context().newCDPSession(page)
    await session.send('Network.enable')
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      received += encodedDataLength
    })
    const startedMs = performance.now()
    await page.goto(`${server.url}/#/runs`)
    await page.getByText('question 0', { exact: true }).first().waitFor()
    const listMs = performance.now() - startedMs
    const paintMs = await page.evaluate(
      () => globalThis.performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
    )
    console.log(
      `10,000 runs of history: first paint ${paintMs.toFixed(0)} ms, list ${listMs.toFixed(0)} ms (goal 1000 ms)`,
    )
    console.log(`  received by then ${(received / 1024).toFixed(0)} KB\n`)
  } finally {
    await browser.close()
    await server.stop()
  }
}
