import { compare, type Load } from './compare.ts'
import { startContestants } from './contestants.ts'
import { makeProject } from './temp-project.ts'

const QUESTION = { role: 'user', content: 'What is the time in Tokyo, and why?' }
const path = '/compat/chat/completions'
const request = (fields: object) => JSON.stringify({ model: 'twenty', messages: [QUESTION], ...fields })

const LOADS: readonly Load[] = [
  { title: 'chat JSON', cpuGoal: 1.25, path, bodies: [request({})] },
  { title: 'chat SSE, 20 chunks', cpuGoal: 0.75, path, bodies: [request({ stream: true })] },
]

export async function benchChat(): Promise<void> {
  const servers = await startContestants('bare', () => [makeProject()])
  console.log('\n## Chat\n')
  for (const load of LOADS) {
    for (const connections of [1, 10, 100]) await compare(load, connections, servers)
  }
  await servers.stop()
  await benchClientTools()
}

const CALL = { id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{"city":"Tokyo"}' } }
const TOOLS = [{ type: 'function', function: { name: 'clock', parameters: { type: 'object', properties: {} } } }]
const ANSWERED = [
  QUESTION,
  { role: 'assistant', content: null, tool_calls: [CALL] },
  { role: 'tool', tool_call_id: 'call_1', content: '12:00' },
]

/** A round trip of a client's tool against two plain requests to the same agent. */
async function benchClientTools(): Promise<void> {
  const first = request({ model: 'caller', tools: TOOLS })
  const second = request({ model: 'caller', tools: TOOLS, messages: ANSWERED })
  const load: Load = {
    title: "round trip of a client's tool against two plain requests",
    cpuGoal: 1.1,
    path,
    bodies: [first, second],
    floorBodies: [request({ model: 'caller' })],
  }
  const servers = await startContestants('agent-host', () => [makeProject()])
  await compare(load, 10, servers)
  await servers.stop()
}
