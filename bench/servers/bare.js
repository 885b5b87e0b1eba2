// The floor: a Fastify with nothing but two schemas, that answers the same bytes.
import { randomUUID } from 'node:crypto'
import fastify from 'fastify'
import { Compile } from 'typebox/compile'
import { ChatCompletion, ChatRequest } from '../../build/server/adapters/chat-compat/schema.js'
import { report } from './report.js'

const app = fastify()
app.setValidatorCompiler(({ schema }) => {
  const validator = Compile(schema)
  return (value) => (validator.Check(value) ? { value } : { error: new Error('invalid') })
})
app.post(
  '/compat/chat/completions',
  { schema: { body: ChatRequest, response: { 200: ChatCompletion } } },
  (request, reply) => {
    const { model, stream } = request.body
    const id = `chatcmpl-${randomUUID()}`
    const created = Math.floor(Date.now() / 1000)
    if (stream) return sendChunks(reply, id, created, model)
    const message = { role: 'assistant', content: 'word '.repeat(20) }
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    reply.send({ id, object: 'chat.completion', created, model, choices, usage })
  },
)

function sendChunks(reply, id, created, model) {
  const chunk = (delta, finish_reason) => {
    const choices = [{ index: 0, delta, finish_reason }]
    const body = { id, object: 'chat.completion.chunk', created, model, choices }
    return `data: ${JSON.stringify(body)}\n\n`
  }
  reply.hijack()
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  reply.raw.write(chunk({ role: 'assistant', content: '' }, null))
  for (let word = 0; word < 20; word++) reply.raw.write(chunk({ content: 'word ' }, null))
  reply.raw.write(chunk({}, 'stop'))
  reply.raw.end('data: [DONE]\n\n')
}

report(await app.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }))
