import { ChildServer } from './child-server.ts'
import { compare, type Load } from './compare.ts'
import { makeProject } from './temp-project.ts'

const request = (model: string) =>
  JSON.stringify({ model, messages: [{ role: 'user', content: 'What is the time in Tokyo, and why?' }] })

/** A run that calls a tool which needs no approval, where another tool of the agent needs one. */
const LOAD: Load = {
  title: 'a tool that needs no approval, beside one that does, against an agent without approvals',
  cpuGoal: 1.05,
  path: '/compat/chat/completions',
  bodies: [request('careful')],
  floorBodies: [request('clock')],
}

/** One process serves both agents: two processes differ by more than the measured effect. */
export async function benchApprovals(): Promise<void> {
  console.log('\n## Approvals\n')
  const server = await ChildServer.start('agent-host', [makeProject()])
  await compare(LOAD, 10, server, server)
  await server.stop()
}
