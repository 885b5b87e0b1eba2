import { ChildServer } from './child-server.ts'
import { compare, type Load } from './compare.ts'
import { startContestants } from './contestants.ts'
import { makeProject } from './temp-project.ts'

const call = (name: string) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: { message: 'What is the time in Tokyo, and why?' } },
  })
const LOAD: Load = { title: 'MCP tools/call', cpuGoal: 1.25, path: '/mcp', bodies: [call('twenty')] }

export async function benchMcp(): Promise<void> {
  const servers = await startContestants('bare-mcp', () => [makeProject()])
  console.log('\n## MCP\n')
  for (const connections of [1, 10, 100]) await compare(LOAD, connections, servers)
  await servers.stop()
  await benchSdk()
}

/** The handler of the official SDK, which has a tool that echoes. */
async function benchSdk(): Promise<void> {
  const [floor, own] = [await ChildServer.start('bare-mcp'), await ChildServer.start('sdk-mcp')]
  const load: Load = { title: 'MCP tools/call of the official SDK', path: '/mcp', bodies: [call('echo')] }
  await compare(load, 10, { floor, own })
  await Promise.all([floor.stop(), own.stop()])
}
