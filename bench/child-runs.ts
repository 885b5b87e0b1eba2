import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AgentHost, defineModule, many, Response, TextMessageHandler, ToolProvider, Type } from 'agent-host'
import { ChildServer } from './child-server.ts'
import { cpuPerRequest } from './cpu-per-request.ts'
import { median } from './median.ts'
import { makeFolder } from './temp-project.ts'

/** Calls of one run of the parent, and runs that they are compared with. */
const CALLS = 500
const ROUNDS = 40

/** Calls its tool again and again. */
const caller = defineModule({
  name: 'Caller',
  provides: [TextMessageHandler],
  uses: { tools: many(ToolProvider), response: Response },
  config: Type.Object({ calls: Type.Integer() }),
  create: ({ tools: [team], response }, { calls }) => ({
    async handleText(text, run) {
      for (let call = 0; call < calls; call++) {
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

const TITLE = '\n## Calls of agents: against the run that each starts (goal 1.3)\n'

/** What a call of an agent as a tool costs, against the run that it starts. */
export async function benchChildRuns(): Promise<void> {
  console.log(TITLE)
  for (const [title, modules] of Object.entries(CHILDREN)) print(title, await measure(modules))
  const model = await ChildServer.start('scripted-model')
  const vendor = [
    { id: 'llm', module: 'llm/openai', config: { model: 'm', api_key: 'k', api: 'chat', base_url: model.url } },
    { id: 'loop', module: 'orchestrator/tool-loop' },
  ]
  print('an agent that asks a model over HTTP', await measure(vendor, 20))
  await benchServer(vendor)
  await model.stop()
}

function print(title: string, { run, call }: Times): void {
  console.log(`  ${title}: ${micros(run)} a run, ${micros(call)} a call, ratio ${(call / run).toFixed(2)}`)
}

/** Requests of a round; the agents are asked in turns. */
const REQUESTS = 400
const SERVED_ROUNDS = 5

/** What a request to an agent costs that calls another once, against the same request to the other. */
async function benchServer(modules: object[]): Promise<void> {
  const server = await ChildServer.start('agent-host', [makeProject(modules), 'ChatCompatApiAdapter'])
  const ask = async (model: string) => {
    const body = { model, messages: [{ role: 'user', content: 'hello' }] }
    return (await cpuPerRequest(server, [{ path: '/compat/chat/completions', body }], REQUESTS)) / 1000
  }
  const times = { run: [] as number[], call: [] as number[] }
  for (let round = 0; round < SERVED_ROUNDS; round++) {
    times.run.push(await ask('child'))
    times.call.push(await ask('parent'))
  }
  await server.stop()
  const [run, call] = [median(times.run), median(times.call)]
  console.log(
    `  the same over HTTP: ${micros(run)} a request to it, ${micros(call)} to an agent that calls it, ratio ${(call / run).toFixed(2)}`,
  )
}

/** Project with the agent `child`, and with `parent`, which calls it once. */
function makeProject(modules: object[]): string {
  const dir = makeFolder()
  const team = { id: 'team', module: 'tools/agents', config: { agents: ['child'] } }
  const files = {
    'agents/child.yml': JSON.stringify({ id: 'child', modules }),
    'agents/parent.yml': JSON.stringify({ id: 'parent', modules: [team, { id: 'main', module: 'caller' }] }),
    'modules/caller.ts': CALLER,
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, file)), { recursive: true })
    writeFileSync(join(dir, file), text)
  }
  return dir
}

const CALLER = `import { defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Caller', provides: [TextMessageHandler], uses: { tools: many(ToolProvider), response: Response },
  create: ({ tools: [team], response }) => ({ async handleText(message, run) {
    const { text } = await team.executeTool('child', { message }, run.with({ toolCallId: 'call_1' }))
    await response.respondText(text)
  } }) })`

/** CPU time in milliseconds. */
interface Times {
  readonly run: number
  readonly call: number
}

/** Milliseconds of CPU of a run alone, and of a call that starts one. */
async function measure(modules: object[], calls = CALLS): Promise<Times> {
  const host = new AgentHost()
  await host.register({ id: 'child', modules })
  const team = { id: 'team', module: 'tools/agents', config: { agents: ['child'] } }
  await host.register({ id: 'parent', modules: [team, { id: 'main', module: caller, config: { calls } }] })
  const times = { run: [] as number[], call: [] as number[] }
  for (let round = 0; round < ROUNDS; round++) {
    times.run.push(
      await cpuMsOf(async () => {
        for (let run = 0; run < calls; run++) await host.run('child', 'hello')
      }),
    )
    times.call.push(await cpuMsOf(() => host.run('parent', 'hello')))
  }
  await host.close()
  return { run: median(times.run) / calls, call: median(times.call) / calls }
}

async function cpuMsOf(act: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function micros(milliseconds: number): string {
  return `${(milliseconds * 1000).toFixed(1)} µs`
}
