// Calls every kind of tool with the official client. `openai.mjs <url> call <file>` makes the calls, created and streamed, and writes them to a
// file; `answer` sends their outputs and prints the answers; `chat` makes a round trip of each kind in chat completions; `keep` keeps a
// conversation with signed thinking itself, for eight rounds; `compact` streams a compaction.
import { readFileSync, writeFileSync } from 'node:fs'
import OpenAI from 'openai'

const [url, phase, file] = process.argv.slice(2)
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const find = { type: 'function', name: 'find', description: 'Finds.', parameters, strict: false }
const regex = { type: 'grammar', syntax: 'regex', definition: '[a-z]+\\d+' }
const lark = { type: 'grammar', syntax: 'lark', definition: 'start: /[a-z0-9]+/' }
/** By the name that the model knows. */
const TOOLS = {
  find,
  note: { type: 'custom', name: 'note', description: 'Takes a text.' },
  code: { type: 'custom', name: 'code', description: 'Takes a code.', format: regex },
  query: { type: 'custom', name: 'query', description: 'Takes a query.', format: lark },
  crm__find: { type: 'namespace', name: 'crm', description: 'Customers.', tools: [find] },
}
/** Tools that have no effect here. */
const HOSTED = [
  { type: 'web_search' },
  { type: 'file_search', vector_store_ids: ['vs_1'] },
  { type: 'code_interpreter', container: { type: 'auto' } },
  { type: 'computer' },
  { type: 'image_generation' },
  { type: 'local_shell' },
  { type: 'shell' },
  { type: 'apply_patch' },
  { type: 'mcp', server_label: 'far', server_url: 'https://mcp.example.test' },
  { type: 'tool_search' },
  { type: 'programmatic_tool_calling' },
]
const CHAT_TOOLS = {
  find: { type: 'function', function: { name: 'find', parameters } },
  note: { type: 'custom', custom: { name: 'note' } },
  code: { type: 'custom', custom: { name: 'code', format: { type: 'grammar', grammar: regex } } },
}
const PHASES = { call, answer, chat, keep, compact }
await PHASES[phase]()

async function respond(body, isStreamed) {
  if (!isStreamed) return client.responses.create(body)
  return client.responses.stream(body).finalResponse()
}

async function call() {
  const calls = []
  for (const [name, tool] of Object.entries(TOOLS)) {
    for (const isStreamed of [false, true]) {
      const { id, output } = await respond({ model: 'caller', input: name, tools: [tool, ...HOSTED] }, isStreamed)
      calls.push({ id, call: output.at(-1), isStreamed })
    }
  }
  writeFileSync(file, JSON.stringify(calls))
}

async function answer() {
  for (const { id, call, isStreamed } of JSON.parse(readFileSync(file, 'utf8'))) {
    const output = {
      type: `${call.type}_output`,
      call_id: call.call_id,
      output: `${call.name} of ${call.namespace ?? 'none'}`,
    }
    const body = { model: 'caller', previous_response_id: id, input: [output], tools: Object.values(TOOLS) }
    const { output_text: text } = await respond(body, isStreamed)
    console.log(call.type, call.input ?? call.arguments, text)
  }
}

async function chat() {
  for (const [name, tool] of Object.entries(CHAT_TOOLS)) {
    for (const isStreamed of [false, true]) {
      const messages = [{ role: 'user', content: name }]
      const { message } = (await complete({ model: 'caller', messages, tools: [tool] }, isStreamed)).choices[0]
      const [{ id, type, ...made }] = message.tool_calls
      messages.push(message, { role: 'tool', tool_call_id: id, content: `${made[type].name} done` })
      const last = await complete({ model: 'caller', messages, tools: [tool] }, isStreamed)
      console.log(type, made[type].input ?? made[type].arguments, last.choices[0].message.content)
    }
  }
}

async function complete(body, isStreamed) {
  if (!isStreamed) return client.chat.completions.create(body)
  // The helper of the client cannot accumulate calls of custom tools.
  const message = { role: 'assistant', content: '' }
  for await (const { choices } of await client.chat.completions.create({ ...body, stream: true })) {
    message.content += choices[0]?.delta.content ?? ''
    if (choices[0]?.delta.tool_calls)
      message.tool_calls = choices[0].delta.tool_calls.map(({ index: _, ...made }) => made)
  }
  return { choices: [{ message }] }
}

async function compact() {
  const input = [{ role: 'user', content: 'Go.' }, { type: 'compaction_trigger' }]
  const { output } = await respond({ model: 'coder', input }, true)
  console.log(output.map(({ type }) => type).join(' '))
}

async function keep() {
  const input = [{ role: 'user', content: 'Go.' }]
  const step = { type: 'function', name: 'step', parameters: { type: 'object', properties: {} }, strict: false }
  for (let round = 0; round <= 8; round++) {
    const options = { store: false, include: ['reasoning.encrypted_content'], reasoning: { effort: 'low' } }
    const { output, output_text: text } = await respond(
      { model: 'keeper', input, tools: [step], ...options },
      round % 2 === 1,
    )
    input.push(...output)
    for (const { type, call_id } of output) {
      if (type === 'function_call') input.push({ type: 'function_call_output', call_id, output: 'ok' })
    }
    if (text) console.log(`round ${round}: ${text}`)
  }
}
