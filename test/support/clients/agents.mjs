// Runs a tool of the OpenAI Agents SDK, and one of a namespace, in one piece and streamed, against the responses API. `agents.mjs <url>`
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool, toolNamespace } from '@openai/agents'
import { z } from 'zod'

setTracingDisabled(true)
const modelProvider = new OpenAIProvider({ baseURL: `${process.argv[2]}/v1`, apiKey: 'none', useResponses: true })
const find = tool({
  name: 'find',
  description: 'Finds.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `found ${city}`,
})
const runner = new Runner({ modelProvider })

for (const [name, tools] of [
  ['find', [find]],
  ['crm__find', toolNamespace({ name: 'crm', description: 'Customers.', tools: [find] })],
]) {
  const agent = new Agent({ name: 'Finder', model: 'caller', tools })
  console.log(name, (await runner.run(agent, name)).finalOutput)
  const stream = await runner.run(agent, name, { stream: true })
  await stream.completed
  console.log(name, stream.finalOutput)
}
