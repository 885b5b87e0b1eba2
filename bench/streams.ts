import { Agent, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { ChildServer } from './child-server.ts'

const STREAMS = 5000

/** Many slow streams at once: 20 chunks, one every half second, beside a bare Fastify that waits in the same way. */
export async function benchStreams(): Promise<void> {
  console.log(`\n## ${STREAMS} slow streams at once: KB each while open, and at most\n`)
  const silent = await hold('bare-streams', [], '')
  const listening = await hold('bare-streams', ['signal'], '')
  for (const [title, model, floor] of [
    ['timers alone', 'paced', silent],
    ['timers that listen to the signal of the run', 'slow', listening],
    ['llm/mock with delay_ms', 'scripted', silent],
  ] as const) {
    const own = await hold('agent-host', [], model)
    const parts = [`${own.complete} of ${STREAMS} complete`, `${own.open} KB each while open (floor ${floor.open})`]
    console.log(`  ${title}: ${parts.join(', ')}, at most ${own.most} (floor ${floor.most})`)
  }
}

/** Memory of each stream, beyond that of a server that has answered nothing yet. */
async function hold(name: string, args: readonly string[], model: string) {
  const server = await ChildServer.start(name, args)
  const { rssBytes: idle } = await server.used()
  const kilobytesOf = (bytes: number) => ((bytes - idle) / STREAMS / 1024).toFixed(0)
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  const streams = Promise.all(Array.from({ length: STREAMS }, () => readStream(server.url, agent, model)))
  await wait(6000)
  const open = kilobytesOf((await server.used()).rssBytes)
  const complete = (await streams).filter((body) => body.endsWith('data: [DONE]\n\n')).length
  const most = kilobytesOf((await server.used()).maxRssBytes)
  agent.destroy()
  await server.stop()
  return { complete, open, most }
}

function readStream(url: string, agent: Agent, model: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const sent = request(`${url}/compat/chat/completions`, { method: 'POST', agent, headers }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        body = (body + text).slice(-100)
      })
      response.on('end', () => resolve(body))
    })
    sent.on('error', reject)
    sent.end(JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'hi' }] }))
  })
}
