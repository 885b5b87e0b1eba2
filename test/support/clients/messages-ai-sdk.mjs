// An answer and a round of a tool, each created and streamed, with the AI SDK's Anthropic provider. `messages-ai-sdk.mjs <url>`
import { createAnthropic } from '@ai-sdk/anthropic'
import { generateText, isStepCount, streamText, tool } from 'ai'
import { z } from 'zod'

const anthropic = createAnthropic({ baseURL: `${process.argv[2]}/anthropic/v1`, apiKey: 'none' })
const find = tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => `found ${city}` })
const settings = { model: anthropic('example'), tools: { find }, stopWhen: isStepCount(3), maxOutputTokens: 99 }
const prompts = ['turn one', '{"call":"find","city":"Lima"}']

for (const prompt of prompts) console.log((await generateText({ ...settings, prompt })).text)
for (const prompt of prompts) console.log(await streamText({ ...settings, prompt }).text)
