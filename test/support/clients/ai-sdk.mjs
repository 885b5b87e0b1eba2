// Runs a custom tool and a function of an AI SDK, created and streamed, against the responses API. `ai-sdk.mjs <url>`
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, streamText, tool } from 'ai'
import { z } from 'zod'

const openai = createOpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: 'none' })
const model = openai.responses('caller')
const tools = {
  note: openai.tools.customTool({ description: 'Takes a text.', execute: (text) => `noted ${text}` }),
  code: openai.tools.customTool({
    description: 'Takes a code.',
    format: { type: 'grammar', syntax: 'regex', definition: '[a-z]+\\d+' },
    execute: (text) => `coded ${text}`,
  }),
  find: tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => `found ${city}` }),
}

for (const name of Object.keys(tools)) {
  const settings = { model, tools, prompt: name, stopWhen: isStepCount(3) }
  console.log(name, (await generateText(settings)).text)
  console.log(name, await streamText(settings).text)
}
