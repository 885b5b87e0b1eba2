import { ChildServer } from './child-server.ts'
import { compare, type Load } from './compare.ts'
import { makeProject } from './temp-project.ts'

const path = '/compat/chat/completions'
const chat = (model: string) => JSON.stringify({ model, messages: [{ role: 'user', content: 'What is the time?' }] })
const LOADS: readonly Load[] = [
  { title: 'chat JSON of an echo, recording on against off', cpuGoal: 1.15, path, bodies: [chat('echo')] },
  { title: 'a run of five tool calls, recording on against off', cpuGoal: 1.05, path, bodies: [chat('five')] },
]
const CONNECTIONS = 10

/** Servers that trace: one that records each run as a tape, as `dev` does, and one that records none. */
export async function benchRecording(): Promise<void> {
  console.log('\n## Tapes: recording on against off\n')
  const floor = await ChildServer.start('agent-host', [makeProject(), '', 'debug'])
  const own = await ChildServer.start('agent-host', [makeProject(), '', 'debug', JSON.stringify({ record: 1 })])
  for (const load of LOADS) await compare(load, CONNECTIONS, { floor, own })
  await Promise.all([floor.stop(), own.stop()])
}
