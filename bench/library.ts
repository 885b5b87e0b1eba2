import { AgentHost, memoryStorage, type Run, type VectorIndex } from 'agent-host'
import exactIndex from '../modules/memory/exact-index.ts'
import { makeContext, makeRun } from '../test/support/fake-run.ts'

const STEPS = 100
const VECTORS = 50_000
const DIMENSIONS = 384

/** Overhead of the library beyond the model, and the time of a search in many memories. */
export async function benchLibrary(): Promise<void> {
  console.log('\n## Library: steps of the tool loop, search among vectors\n')
  const [plain, limited] = [await timeOfStep({}), await timeOfStep({ max_tokens: 1e9, max_seconds: 1000 })]
  console.log(`  orchestrator/tool-loop: ${micros(plain)} a step with one call of a tool (goal 300 µs)`)
  console.log(`  the same with a budget of tokens and time: ${micros(limited)}`)
  const index = await makeFullIndex()
  for (const limit of [10, 1000]) {
    const { median, fastest } = await timeOfSearch(index, limit)
    const goal = limit === 10 ? ' (goal 30 ms)' : ''
    console.log(
      `  memory/exact-index: the nearest ${limit} of ${VECTORS} x ${DIMENSIONS} in ${median.toFixed(1)} ms, at best ${fastest.toFixed(1)} ms${goal}`,
    )
  }
  await index.dispose?.()
}

/** Milliseconds of a step, compared with a run without steps; the model and the tool answer at once. */
async function timeOfStep(limits: object): Promise<number> {
  const host = new AgentHost({ storage: memoryStorage() })
  const call = { tool_calls: [{ name: 'memory_list', arguments: {} }] }
  const config = { max_steps: STEPS + 1, max_repeats: STEPS + 1, ...limits }
  const agent = (id: string, replies: unknown[]) => ({
    id,
    modules: [
      { id: 'llm', module: 'llm/mock', config: { replies } },
      { id: 'embedder', module: 'embedder/local' },
      { id: 'index', module: 'memory/exact-index', config: { persist: false } },
      { id: 'memory', module: 'memory/vector-memory', config: { persist: false } },
      { id: 'tools', module: 'tools/memory' },
      { id: 'loop', module: 'orchestrator/tool-loop', config },
    ],
  })
  await host.register(agent('none', ['done']))
  await host.register(agent('many', [...Array.from({ length: STEPS }, () => call), 'done']))
  const times = { none: [] as number[], many: [] as number[] }
  for (let round = 0; round < 40; round++) {
    for (const id of ['none', 'many'] as const) {
      const started = performance.now()
      await host.run(id, 'hi')
      times[id].push(performance.now() - started)
    }
  }
  await host.close()
  return (median(times.many) - median(times.none)) / STEPS
}

async function makeFullIndex(): Promise<VectorIndex & { dispose?(): void | Promise<void> }> {
  const context = makeContext()
  const storage = memoryStorage().storageOf(context)
  const index = await exactIndex.create({ storage }, { persist: false }, context)
  const run = makeRun()
  for (let n = 0; n < VECTORS; n++) await index.add(`v${n}`, randomVector(), run)
  return index
}

async function timeOfSearch(index: VectorIndex, limit: number): Promise<{ median: number; fastest: number }> {
  const run: Run = makeRun()
  const times: number[] = []
  for (let round = 0; round < 30; round++) {
    const vector = randomVector()
    const started = performance.now()
    await index.search(vector, limit, run)
    times.push(performance.now() - started)
  }
  // The first ones are slower, before the loop is compiled: a server is past them at once.
  const warm = times.slice(5)
  return { median: median(warm), fastest: Math.min(...warm) }
}

function randomVector(): Float32Array {
  return Float32Array.from({ length: DIMENSIONS }, () => Math.random() - 0.5)
}

function median(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
}

function micros(ms: number): string {
  return `${(ms * 1000).toFixed(0)} µs`
}
