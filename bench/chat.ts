import { ChildServer } from './child-server.ts'
import { compare, type Load } from './compare.ts'

const request = (model: string, stream: boolean) =>
  JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'What is the time in Tokyo, and why?' }] })

const path = '/compat/chat/completions'
const LOADS: readonly Load[] = [
  { title: 'chat JSON', goal: 0.75, path, body: request('echo', false) },
  { title: 'chat SSE, 20 chunks', goal: 0.85, path, body: request('twenty', true) },
]

export async function benchChat(): Promise<void> {
  const [bare, own] = [await ChildServer.start('bare'), await ChildServer.start('agent-host')]
  console.log('\n## Chat: requests/s, latency in ms, CPU time a request; ratio to a bare Fastify\n')
  for (const load of LOADS) {
    for (const connections of [1, 10, 100]) await compare(load, connections, bare, own)
  }
  await Promise.all([bare.stop(), own.stop()])
}
