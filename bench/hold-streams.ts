import { Agent, request } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { ChildServer } from './child-server.ts'

const SECONDS = 5
/** While all are open. */
const MEASURED_MS = 3000
/** Streams that begin in a second. */
const BEGIN_RATE = 2000

/** Costs of streams that are open at the same time, each with a chunk a second, beyond those of an idle server. */
export async function holdStreams(count: number): Promise<{ cpuMicrosOfChunk: number; kilobytes: number }> {
  const server = await ChildServer.start('agent-host', ['', 'ChatCompatApiAdapter'])
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  const start = await server.used()
  await setTimeout(MEASURED_MS)
  const idle = await server.used()
  const beginMs = Date.now() + (count / BEGIN_RATE) * 1000 + 1000
  const streams = Promise.all(Array.from({ length: count }, () => readStream(server.url, agent, beginMs)))
  // All are open then.
  await setTimeout(beginMs + 1000 - Date.now())
  const before = await server.used()
  await setTimeout(MEASURED_MS)
  const { cpuMicros, rssBytes } = await server.used()
  const complete = (await streams).filter(Boolean).length
  agent.destroy()
  await server.stop()
  if (complete < count) throw new Error(`${count - complete} of ${count} streams were cut off.`)
  const micros = cpuMicros - before.cpuMicros - (idle.cpuMicros - start.cpuMicros)
  const chunks = (count * MEASURED_MS) / 1000
  return { cpuMicrosOfChunk: micros / chunks, kilobytes: (rssBytes - idle.rssBytes) / count / 1024 }
}

/** Returns true for a stream that came to its end. */
function readStream(url: string, agent: Agent, beginMs: number): Promise<boolean> {
  const content = `${beginMs} ${SECONDS} 1`
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const sent = request(`${url}/compat/chat/completions`, { method: 'POST', agent, headers }, (response) => {
      let end = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        end = (end + text).slice(-20)
      })
      response.on('end', () => resolve(end.endsWith('data: [DONE]\n\n')))
    })
    sent.on('error', reject)
    sent.end(JSON.stringify({ model: 'ticking', stream: true, messages: [{ role: 'user', content }] }))
  })
}
