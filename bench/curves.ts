import { writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ChildServer } from './child-server.ts'
import { cpuPerRequest } from './cpu-per-request.ts'
import { generateResponses } from './generate-responses.ts'
import { generateTrace } from './generate-trace.ts'
import { holdStreams } from './hold-streams.ts'
import { type Curve, plotCurve, THEMES } from './plot-curves.ts'
import { makeAgents } from './temp-agents.ts'
import { makeProject } from './temp-project.ts'

const CPU = 'CPU time in µs'
const chat = (model: string) => ({
  path: '/compat/chat/completions',
  body: { model, messages: [{ role: 'user', content: 'hi' }] },
})

/** Measures how cost grows, and writes the plots of docs/growth.md. */
export const CURVES: Readonly<Record<string, () => Promise<void>>> = {
  'curve-agents': async () => draw(await measureAgents()),
  'curve-responses': async () => draw(await measureResponses()),
  'curve-turns': async () => draw(await measureTurns()),
  'curve-streams': async () => draw(await measureStreams()),
  'curve-traces': async () => draw(await measureTraces()),
}

function draw(curve: Curve): void {
  console.log(`\n## ${curve.title}, ${curve.unit}\n`)
  console.log(`  ${curve.xLabel}: ${curve.xs.join(', ')}`)
  for (const { label, values } of curve.series) console.log(`  ${label}: ${values.map((v) => v.toFixed(1)).join(', ')}`)
  for (const name of ['light', 'dark'] as const) {
    const file = new URL(`../docs/images/growth-${curve.name}-${name}.svg`, import.meta.url)
    writeFileSync(fileURLToPath(file), plotCurve(curve, THEMES[name]))
  }
}

async function measureAgents(): Promise<Curve> {
  const xs = [1, 10, 100, 1000, 10_000]
  const values: number[] = []
  for (const count of xs) {
    const server = await ChildServer.start('agent-host', [makeAgents(count)])
    values.push(await cpuPerRequest(server, [chat(`a${count - 1}`)], 10_000))
    await server.stop()
  }
  const series = [{ label: 'a chat request to the last one', values }]
  return { name: 'agents', title: 'Agents of a server', xLabel: 'agents', xs, unit: CPU, series }
}

async function measureResponses(): Promise<Curve> {
  const xs = [100, 10_000, 100_000, 1_000_000]
  const project = makeProject()
  const create = { path: '/compat/responses', body: { model: 'echo', input: 'hi' } }
  // The one that is copied.
  const first = await startResponses(project)
  await cpuPerRequest(first, [create], 16)
  await first.stop()
  const creates: number[] = []
  const reads: number[] = []
  for (const count of xs) {
    const ids = generateResponses(project, count)
    const server = await startResponses(project)
    reads.push(
      await cpuPerRequest(
        server,
        ids.map((id) => ({ path: `/compat/responses/${id}` })),
        1000,
      ),
    )
    creates.push(await cpuPerRequest(server, [create], 500))
    await server.stop()
  }
  const series = [
    { label: 'storing another', values: creates },
    { label: 'reading one of them', values: reads },
  ]
  return { name: 'responses', title: 'Stored responses', xLabel: 'stored responses', xs, unit: CPU, series }
}

async function measureTurns(): Promise<Curve> {
  const xs = [1, 10, 100, 1000]
  const server = await startResponses(makeProject())
  const ids: string[] = []
  for (let turn = 0; turn < 1000; turn++) {
    const body = { model: 'echo', input: `This is turn ${turn} of many.`, previous_response_id: ids.at(-1) }
    const { id } = (await post(server, '/compat/responses', body)) as { id: string }
    ids.push(id)
  }
  const values: number[] = []
  for (const turns of xs) {
    const body = { model: 'echo', input: 'And now?', previous_response_id: ids[turns - 2] }
    values.push(await cpuPerRequest(server, [{ path: '/compat/responses', body }], 300))
  }
  await server.stop()
  const series = [{ label: 'the next turn, with its history', values }]
  return { name: 'turns', title: 'Length of a conversation', xLabel: 'turns', xs, unit: CPU, series }
}

async function measureStreams(): Promise<Curve> {
  const xs = [100, 1000, 3000, 10_000]
  const chunks: number[] = []
  const memory: number[] = []
  for (const count of xs) {
    const { cpuMicrosOfChunk, kilobytes } = await holdStreams(count)
    chunks.push(cpuMicrosOfChunk)
    memory.push(kilobytes)
  }
  const series = [
    { label: 'a chunk of a stream, µs of CPU time', values: chunks },
    { label: 'a stream, KB of memory', values: memory },
  ]
  return { name: 'streams', title: 'Open streams', xLabel: 'open streams', xs, unit: 'µs and KB', series }
}

async function measureTraces(): Promise<Curve> {
  const xs = [1000, 10_000, 100_000, 1_000_000]
  const project = makeProject()
  const runs: number[] = []
  const lists: number[] = []
  for (const [index, count] of xs.entries()) {
    await generateTrace(project, xs[index - 1] ?? 0, count)
    const server = await ChildServer.start('agent-host', [project, '', 'debug', '{"debugMaxMb":10000}'])
    await whenIndexed(server, count)
    lists.push(await cpuPerRequest(server, [graphql('runs(first: 50) { runs { run_id agent_id status } }')], 500))
    runs.push(await cpuPerRequest(server, [chat('echo')], 500))
    await server.stop()
  }
  const series = [
    { label: 'a chat request that is traced', values: runs },
    { label: 'the latest 50 runs, over GraphQL', values: lists },
  ]
  return { name: 'traces', title: 'Traced runs', xLabel: 'traced runs', xs, unit: CPU, series }
}

function graphql(field: string) {
  return { path: '/api/ui/graphql', body: { query: `{ ${field} }` } }
}

async function whenIndexed(server: ChildServer, count: number): Promise<void> {
  const { path, body } = graphql('runs(first: 1) { total }')
  for (let total = 0; total < count; await setTimeout(200)) {
    const { data } = (await post(server, path, body)) as { data: { runs: { total: number } } }
    total = data.runs.total
  }
}

async function post({ url }: ChildServer, path: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!reply.ok) throw new Error(`${reply.status}: ${await reply.text()}`)
  return reply.json()
}

function startResponses(project: string): Promise<ChildServer> {
  return ChildServer.start('agent-host', [project, 'ResponsesCompatApiAdapter'])
}
