// An answer and a round of a tool, each created and streamed, with LangChain's Anthropic provider. `messages-langchain.mjs <url>`
import { ChatAnthropic } from '@langchain/anthropic'
import { tool } from '@langchain/core/tools'
import { z } from 'zod'

const anthropicApiUrl = `${process.argv[2]}/anthropic`
const schema = z.object({ city: z.string() })
const find = tool(({ city }) => `found ${city}`, { name: 'find', description: 'Finds.', schema })
const model = new ChatAnthropic({ model: 'example', anthropicApiUrl, apiKey: 'none', maxRetries: 0 }).bindTools([find])

async function ask(isStreamed, messages) {
  if (!isStreamed) return model.invoke(messages)
  let whole
  for await (const chunk of await model.stream(messages)) whole = whole?.concat(chunk) ?? chunk
  return whole
}

for (const isStreamed of [false, true]) {
  console.log((await ask(isStreamed, ['turn one'])).text)
  const question = ['user', '{"call":"find","city":"Lima"}']
  const called = await ask(isStreamed, [question])
  console.log((await ask(isStreamed, [question, called, await find.invoke(called.tool_calls[0])])).text)
}
