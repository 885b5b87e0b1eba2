/** Serves the built page and, for an agent, CopilotKit's runtime: `server.mjs <url of the agent>`. Prints its address. */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { HttpAgent } from '@ag-ui/client'
import { CopilotRuntime, InMemoryAgentRunner } from '@copilotkit/runtime/v2'
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node'

const agents = { default: new HttpAgent({ url: process.argv[2] }) }
const runtime = new CopilotRuntime({ agents, runner: new InMemoryAgentRunner() })
const askRuntime = createCopilotNodeListener({ runtime, basePath: '/api/copilotkit' })
const HTML =
  '<!doctype html><meta charset="utf-8"><title>CopilotKit</title><main></main><script type="module" src="page.js"></script>'

const server = createServer(async (request, response) => {
  if (request.url.startsWith('/api/copilotkit')) return askRuntime(request, response)
  const isScript = request.url === '/page.js'
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
  response.end(isScript ? await readFile('page.js') : HTML)
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
