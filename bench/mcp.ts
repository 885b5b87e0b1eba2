import { ChildServer } from './child-server.ts'
import { compare, type Load } from './compare.ts'

const params = { name: 'echo', arguments: { message: 'What is the time in Tokyo, and why?' } }
const LOAD: Load = {
  title: 'tools/call',
  goal: 0.75,
  path: '/mcp',
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
}

export async function benchMcp(): Promise<void> {
  const bare = await ChildServer.start('bare-mcp')
  const own = await ChildServer.start('agent-host', ['', 'McpApiAdapter'])
  const sdk = await ChildServer.start('sdk-mcp')
  console.log('\n## MCP: requests/s, latency in ms, CPU time a request; ratio to a bare Fastify\n')
  for (const connections of [1, 10, 100]) await compare(LOAD, connections, bare, own)
  await compare({ ...LOAD, title: 'tools/call, the handler of the official SDK', goal: 0 }, 10, bare, sdk)
  await Promise.all([bare.stop(), own.stop(), sdk.stop()])
}
