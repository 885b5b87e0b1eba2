// Runs a tool of the OpenAI Agents SDK, one of a namespace, and one that takes free text, in one piece and streamed, against the responses
// API. `agents.mjs <url>`
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool, toolNamespace, withTrace } from '@openai/agents'
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

// The SDK (0.20) has no tool that takes free text, and runs none: it passes the definition, the call and the output on as they are.
const note = {
  type: 'hosted_tool',
  name: 'note',
  providerData: { type: 'custom', name: 'note', description: 'Notes.' },
}
const model = await modelProvider.getModel('caller')
const question = { type: 'message', role: 'user', content: 'note' }

async function create(request) {
  return (await model.getResponse(request)).output
}

async function stream(request) {
  for await (const event of model.getStreamedResponse(request)) {
    if (event.type === 'response_done') return event.response.output
  }
}

for (const ask of [create, stream]) {
  const request = { tools: [note], handoffs: [], modelSettings: {}, outputType: 'text', tracing: false }
  await withTrace('note', async () => {
    const output = await ask({ ...request, input: [question] })
    const { type, call_id, input } = output[0].providerData
    const answer = { type: 'unknown', providerData: { type: `${type}_output`, call_id, output: `noted ${input}` } }
    const [message] = await ask({ ...request, input: [question, ...output, answer] })
    console.log(type, message.content[0].text)
  })
}
