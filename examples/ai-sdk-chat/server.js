// A page with useChat, and the route behind it, which asks an agent.
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { convertToModelMessages, streamText, tool } from 'ai'
import { build } from 'esbuild'
import { z } from 'zod'

const { AGENT_HOST_URL = 'http://127.0.0.1:9001/v1', AGENT = 'example', PORT = '3000' } = process.env
const agents = createOpenAICompatible({ name: 'agent-host', baseURL: AGENT_HOST_URL })

// Without `execute` it is the page's to run.
const tools = { location: tool({ description: 'Tells the location of the user.', inputSchema: z.object({}) }) }

const { outputFiles } = await build({
  entryPoints: [new URL('page.jsx', import.meta.url).pathname],
  bundle: true,
  write: false,
  jsx: 'automatic',
  define: { 'process.env.NODE_ENV': '"production"' },
})
const html =
  '<!doctype html><meta charset="utf-8"><title>Chat</title><div id="root"></div><script src="/page.js"></script>'

async function chat(request, response) {
  const { messages } = await json(request)
  const messagesOfModel = await convertToModelMessages(messages)
  // A failing agent would run three times, with its tools.
  const result = streamText({ model: agents(AGENT), tools, messages: messagesOfModel, maxRetries: 0 })
  result.pipeUIMessageStreamToResponse(response)
}

const server = createServer((request, response) => {
  if (request.url === '/api/chat') return chat(request, response).catch(() => response.destroy())
  const isScript = request.url === '/page.js'
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
  response.end(isScript ? outputFiles[0].text : html)
})
server.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
