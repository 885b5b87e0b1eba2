import autocannon from 'autocannon'
import { ChildServer } from './child-server.ts'
import { makeAgents } from './temp-agents.ts'

const COUNTS = [1, 100, 1000, 10_000]

/** What the number of agents costs: until the server is ready, in memory, and for a call of one of them. */
export async function benchAgents(): Promise<void> {
  console.log('\n## Number of agents: ready after start of the process, memory, one call\n')
  const servers = []
  for (const count of COUNTS) servers.push(await ChildServer.start('agent-host', [makeAgents(count)]))
  for (const [index, server] of servers.entries()) {
    const { rssBytes } = await server.used()
    const ready = `ready in ${server.readyMs.toFixed(0)} ms`
    console.log(`${String(COUNTS[index]).padStart(6)} agents  ${ready}, ${(rssBytes / 1e6).toFixed(0)} MB idle`)
  }
  const rounds = servers.map(() => [] as number[])
  for (let round = 0; round < 5; round++) {
    for (const [index, server] of servers.entries())
      rounds[index]?.push(await timeOfCall(server, (COUNTS[index] ?? 1) - 1))
  }
  const medians = rounds.map((times) => times.sort((a, b) => a - b)[2] ?? 0)
  const text = medians.map((micros, index) => `${COUNTS[index]}: ${micros.toFixed(1)} µs`).join(', ')
  console.log(`\n  CPU time a call of the last one: ${text}`)
  console.log(`  ratio of 10000 to 1: ${((medians[3] ?? 0) / (medians[0] ?? 1)).toFixed(2)} (goal 1.10)`)
  for (const server of servers) await server.stop()
}

async function timeOfCall(server: ChildServer, index: number): Promise<number> {
  const before = await server.used()
  const body = JSON.stringify({ model: `a${index}`, messages: [{ role: 'user', content: 'hi' }] })
  const headers = { 'content-type': 'application/json' }
  const url = `${server.url}/compat/chat/completions`
  const { requests } = await autocannon({ url, method: 'POST', headers, body, connections: 10, duration: 1 })
  const after = await server.used()
  return (after.cpuMicros - before.cpuMicros) / requests.total
}
