// bare-streams.js [signal]: the floor of slow streams, twenty chunks, one every half second; with timers that listen to a signal, or to none.
import { setTimeout } from 'node:timers/promises'
import fastify from 'fastify'
import { report } from './report.js'

const listens = process.argv[2] === 'signal'
const app = fastify()
app.post('/compat/chat/completions', async ({ body: { model } }, reply) => {
  const { signal } = new AbortController()
  const chunk = (delta, finish_reason) => {
    const choices = [{ index: 0, delta, finish_reason }]
    return `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, choices })}\n\n`
  }
  reply.hijack()
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  for (let word = 0; word < 20; word++) {
    await setTimeout(500, undefined, listens ? { signal } : undefined)
    reply.raw.write(chunk({ content: 'word ' }, null))
  }
  reply.raw.write(chunk({}, 'stop'))
  reply.raw.end('data: [DONE]\n\n')
})
report(await app.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }))
