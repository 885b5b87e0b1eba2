// For comparison: the official SDK's own handler with one tool.
import { createServer } from 'node:http'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { report } from './report.js'

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'sdk', version: '1.0.0' })
  const inputSchema = z.object({ message: z.string() })
  server.registerTool('echo', { inputSchema }, ({ message }) => ({ content: [{ type: 'text', text: message }] }))
  return server
})
const http = createServer(async (incoming, outgoing) => {
  const chunks = []
  for await (const chunk of incoming) chunks.push(chunk)
  const request = new Request(`http://127.0.0.1${incoming.url}`, {
    method: 'POST',
    headers: incoming.headers,
    body: Buffer.concat(chunks),
  })
  const response = await handler.fetch(request)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.end(await response.text())
})
http.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => report(`http://127.0.0.1:${http.address().port}`))
