import { AgentHost, defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'

/** Calls of one run of the parent, and runs that they are compared with. */
const CALLS = 500
const ROUNDS = 40

/** Calls its tool again and again. */
const caller = defineModule({
  name: 'Caller',
  provides: [TextMessageHandler],
  uses: { tools: many(ToolProvider), response: Response },
  create: ({ tools: [team], response }) => ({
    async handleText(text, run) {
      for (let call = 0; call < CALLS; call++) {
        await team?.executeTool('child', { message: text }, run.with({ toolCallId: `call_${call}` }))
      }
      await response.respondText('done')
    },
  }),
})

/** The parts of an agent that are called: the least, and one that asks a model twice and calls a tool. */
const CHILDREN: Readonly<Record<string, object[]>> = {
  'an agent that repeats the message': [{ id: 'main', module: 'echo' }],
  'an agent that calls a tool': [
    {
      id: 'llm',
      module: 'llm/mock',
      config: { replies: [{ tool_calls: [{ name: 'memory_list', arguments: {} }] }, 'done'] },
    },
    { id: 'embedder', module: 'embedder/local' },
    { id: 'index', module: 'memory/exact-index', config: { persist: false } },
    { id: 'memory', module: 'memory/vector-memory', config: { persist: false } },
    { id: 'tools', module: 'tools/memory' },
    { id: 'loop', module: 'orchestrator/tool-loop' },
  ],
}

/** What a call of an agent as a tool costs, against the run that it starts. */
export async function benchChildRuns(): Promise<void> {
  console.log('\n## Calls of agents: against the run that each starts (goal 1.3)\n')
  for (const [title, modules] of Object.entries(CHILDREN)) {
    const { run, call } = await measure(modules)
    console.log(`  ${title}: ${micros(run)} a run, ${micros(call)} a call, ratio ${(call / run).toFixed(2)}`)
  }
}

/** Milliseconds of CPU of a run alone, and of a call that starts one. */
async function measure(modules: object[]): Promise<{ run: number; call: number }> {
  const host = new AgentHost()
  await host.register({ id: 'child', modules })
  const team = { id: 'team', module: 'tools/agents', config: { agents: ['child'] } }
  await host.register({ id: 'parent', modules: [team, { id: 'main', module: caller }] })
  const times = { run: [] as number[], call: [] as number[] }
  for (let round = 0; round < ROUNDS; round++) {
    times.run.push(
      await cpuMsOf(async () => {
        for (let run = 0; run < CALLS; run++) await host.run('child', 'hello')
      }),
    )
    times.call.push(await cpuMsOf(() => host.run('parent', 'hello')))
  }
  await host.close()
  return { run: median(times.run) / CALLS, call: median(times.call) / CALLS }
}

async function cpuMsOf(act: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function micros(milliseconds: number): string {
  return `${(milliseconds * 1000).toFixed(1)} µs`
}
