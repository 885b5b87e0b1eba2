// Two turns of the Agent SDK, the first with its tool Read. `agent-sdk.mjs <file to read>`
import { query } from '@anthropic-ai/claude-agent-sdk'

const prompts = [`turn one\n${JSON.stringify({ call: 'Read', file_path: process.argv[2] })}`, 'turn two']
for (const [index, prompt] of prompts.entries())
  for await (const message of query({ prompt, options: { model: 'example', continue: index > 0 } }))
    if (message.type === 'result') console.log(message.result)
