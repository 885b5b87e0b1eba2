// bare-responses.js <folder> [each|unsynced]
// The floor of responses: a Fastify with a schema, that writes rows of the same bytes into the same kind of store, and answers
// the same bytes when they are durable. With `each` it makes a transaction for each request itself, as a plain server would; with
// `unsynced` the same, which survives a crash of the process, and not of the machine. With
// `store: false` it only answers.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import fastify from 'fastify'
import Database from 'libsql'
import { Compile } from 'typebox/compile'
import { CreateRequest } from '../../build/server/adapters/responses-compat/routes/schema.js'
import { SqliteStore } from '../../build/store/sqlite/sqlite-store.js'
import { report } from './report.js'

const [, , folder, mode] = process.argv
const store = mode ? openPlain(folder) : await SqliteStore.open(join(folder, 'responses.db'))
const app = fastify()
app.setValidatorCompiler(({ schema }) => {
  const validator = Compile(schema)
  return (value) => (validator.Check(value) ? { value } : { error: new Error('invalid') })
})

app.post('/compat/responses', { schema: { body: CreateRequest } }, async (request, reply) => {
  const { model, input, stream, store: isStored = true } = request.body
  const id = randomUUID()
  const text = 'word '.repeat(20)
  const item = message(id, 'completed', [{ type: 'output_text', text, annotations: [] }])
  const record = JSON.stringify({ ...makeRecord(id, model, 'completed', [item]), store: isStored })
  if (isStored) await store.commit([row(id, record, input), turn(id, input, text)])
  if (stream) sendEvents(reply, id, model, item, record)
  else reply.type('application/json; charset=utf-8').send(record)
  return reply
})

function openPlain(folder) {
  const db = new Database(join(folder, 'plain.db'))
  for (const pragma of ['journal_mode = WAL', `synchronous = ${mode === 'each' ? 'FULL' : 'NORMAL'}`])
    db.exec(`PRAGMA ${pragma}`)
  db.exec('CREATE TABLE keyv (key VARCHAR(255) PRIMARY KEY, value TEXT)')
  const [begin, insert, commit] = ['BEGIN', 'INSERT INTO keyv VALUES (?, ?)', 'COMMIT'].map((sql) => db.prepare(sql))
  return {
    commit(rows) {
      begin.run()
      for (const row of rows) insert.run(row)
      commit.run()
    },
  }
}

function row(id, record, input) {
  const steps = [...Array(20).fill(5), { end: 'completed', at: now(), usage: { inputTokens: 0, outputTokens: 0 } }]
  const items = [{ id: `msg_${id}`, type: 'message', role: 'user', content: [part(input)], created_at: now() }]
  const rest = JSON.stringify({ steps, inputs: 1, items }).slice(1)
  return [`response:resp_${id}`, `{"response":${record},${rest}`]
}

function turn(id, input, text) {
  const messages = [
    { role: 'user', content: input },
    { role: 'assistant', content: text },
  ]
  const value = {
    id: `conv_${randomUUID()}`,
    response_id: `resp_${id}`,
    previous_response_id: null,
    created_at: now(),
    conversation_data: { messages },
    block: [],
    block_before: null,
  }
  return [`turn:resp_${id}`, JSON.stringify(value)]
}

function sendEvents(reply, id, model, item, record) {
  let sequence_number = 0
  const { raw } = reply
  const send = (type, fields) => {
    raw.write(`data: ${JSON.stringify({ type, sequence_number: ++sequence_number, ...fields })}\n\n`)
  }
  const begun = makeRecord(id, model, 'in_progress', [])
  const place = { item_id: `msg_${id}`, output_index: 0, content_index: 0 }
  reply.hijack()
  raw.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  send('response.created', { response: begun })
  send('response.in_progress', { response: begun })
  send('response.output_item.added', { output_index: 0, item: message(id, 'in_progress', []) })
  send('response.content_part.added', { ...place, part: { type: 'output_text', text: '', annotations: [] } })
  for (let word = 0; word < 20; word++) send('response.output_text.delta', { ...place, delta: 'word ' })
  send('response.content_part.done', { ...place, part: item.content[0] })
  send('response.output_text.done', { ...place, text: item.content[0].text })
  send('response.output_item.done', { output_index: 0, item })
  raw.write(`data: {"type":"response.completed","sequence_number":${++sequence_number},"response":${record}}\n\n`)
  raw.end('data: [DONE]\n\n')
}

function message(id, status, content) {
  return { type: 'message', id: `msg_${id}`, status, role: 'assistant', content }
}

function part(text) {
  return { type: 'input_text', text }
}

function makeRecord(id, model, status, output) {
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: now(),
    completed_at: status === 'completed' ? now() : null,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: null,
    safety_identifier: null,
    service_tier: 'default',
    store: true,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    truncation: 'disabled',
    usage: {
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    },
    user: null,
    metadata: {},
  }
}

function now() {
  return Math.floor(Date.now() / 1000)
}

report(await app.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }))
