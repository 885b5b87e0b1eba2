// An answer, a round of a tool, each created and streamed, a count, the models and an error with @anthropic-ai/sdk. `messages-sdk.mjs <url>`
import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: `${process.argv[2]}/anthropic`, apiKey: 'none', maxRetries: 0 })
const tools = [{ name: 'find', description: 'Finds.', input_schema: { type: 'object' } }]
const ask = (isStreamed, messages) => {
  const body = { model: 'example', max_tokens: 99, messages, tools }
  return isStreamed ? client.messages.stream(body).finalMessage() : client.messages.create(body)
}

for (const isStreamed of [false, true]) {
  const [{ text }] = (await ask(isStreamed, [{ role: 'user', content: 'turn one' }])).content
  console.log(text)
  const question = { role: 'user', content: '{"call":"find","city":"Lima"}' }
  const { content } = await ask(isStreamed, [question])
  const [{ id, input }] = content
  const result = { type: 'tool_result', tool_use_id: id, content: `found ${input.city}` }
  const answers = [question, { role: 'assistant', content }, { role: 'user', content: [result] }]
  console.log((await ask(isStreamed, answers)).content[0].text)
}
const counted = await client.messages.countTokens({
  model: 'example',
  messages: [{ role: 'user', content: 'turn one' }],
})
console.log('counts', counted.input_tokens > 0)
for await (const { id } of client.models.list()) console.log('model', id)
await client.messages
  .create({ model: 'nobody', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] })
  .catch((error) => console.log(error instanceof Anthropic.NotFoundError, error.type))
