import { Agent, request } from 'node:http'
import { ChildServer } from './child-server.ts'

const STREAMS = 5000

/** Many slow streams at once: 20 chunks, one every half second. */
export async function benchStreams(): Promise<void> {
  console.log(`\n## ${STREAMS} slow streams at once\n`)
  const server = await ChildServer.start('agent-host')
  const { rssBytes: idle } = await server.used()
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  const streams = Promise.all(Array.from({ length: STREAMS }, () => readStream(server.url, agent)))
  await new Promise((resume) => setTimeout(resume, 6000))
  const { rssBytes: open } = await server.used()
  const complete = (await streams).filter((body) => body.endsWith('data: [DONE]\n\n')).length
  const kilobytes = (open - idle) / STREAMS / 1024
  console.log(`  ${complete} of ${STREAMS} complete, ${kilobytes.toFixed(1)} KB each while open (goal 50)`)
  agent.destroy()
  await server.stop()
}

function readStream(url: string, agent: Agent): Promise<string> {
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
    sent.end(JSON.stringify({ model: 'slow', stream: true, messages: [{ role: 'user', content: 'hi' }] }))
  })
}
