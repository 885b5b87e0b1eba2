// An MCP server of tools for tests: over stdio, or with the argument --http over HTTP (prints its port).
import { createServer } from 'node:http'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

let hasMore = false
const servers = new Set()
let handler

function makeServer() {
  const server = new McpServer({ name: 'tools', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } })
  servers.add(server)
  const tool = (name, description, inputSchema, execute, annotations) =>
    server.registerTool(name, { description, inputSchema, annotations }, execute)
  const text = (value) => ({ content: [{ type: 'text', text: String(value) }] })
  tool('add', 'Adds two numbers.', z.object({ a: z.number(), b: z.number() }), ({ a, b }) => text(a + b), {
    readOnlyHint: true,
  })
  tool('env', 'Tells variables.', z.object({}), () => text(JSON.stringify(process.env)), {
    destructiveHint: false,
  })
  tool('where', 'Tells its folder and process.', z.object({}), () => text(`${process.cwd()} ${process.pid}`))
  tool('fail', 'Fails.', z.object({}), () => ({ ...text('out of order'), isError: true }))
  tool('dotted.name', 'Has a name with a dot.', z.object({}), () => text('dotted'))
  tool('content', 'Gives everything.', z.object({}), () => ({
    content: [
      { type: 'text', text: 'see' },
      { type: 'image', data: 'AQID', mimeType: 'image/png' },
      { type: 'audio', data: 'BA==', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'https://example.test/x', name: 'x', title: 'X' },
      { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'written' } },
      { type: 'resource', resource: { uri: 'file:///b.bin', mimeType: 'application/zip', blob: 'BQ==' } },
    ],
    structuredContent: { n: 1 },
  }))
  tool('work', 'Reports.', z.object({ ms: z.number() }), async ({ ms }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    for (let progress = 1; progress <= 3; progress++) {
      const params = { progressToken, progress, total: 3, ...(progress === 2 ? { message: 'half' } : {}) }
      await mcpReq.notify({ method: 'notifications/progress', params })
      await new Promise((resolve) => setTimeout(resolve, ms))
    }
    return text('worked')
  })
  tool('hang', 'Never ends.', z.object({}), (_, { mcpReq }) => {
    console.error('hang began')
    return new Promise((_resolve, reject) => {
      mcpReq.signal.addEventListener('abort', () => {
        console.error('hang was aborted')
        reject(new Error('aborted'))
      })
    })
  })
  tool('exit', 'Ends the process.', z.object({}), () => process.exit(3))
  tool('grow', 'Makes another tool.', z.object({}), () => {
    hasMore = true
    for (const other of servers) addMore(other)
    handler?.notify.toolsChanged()
    return text('grown')
  })
  if (hasMore) addMore(server)
  return server
}

function addMore(server) {
  try {
    server.registerTool('more', { description: 'Came later.', inputSchema: z.object({}) }, () => ({ content: [] }))
  } catch {
    // It has it already.
  }
}

if (process.argv.includes('--http')) {
  handler = createMcpHandler(makeServer)
  const seen = []
  const http = createServer(async (incoming, outgoing) => {
    seen.push(incoming.headers.authorization ?? '')
    if (incoming.url === '/seen') return outgoing.end(JSON.stringify(seen))
    const chunks = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}
    const leaving = new AbortController()
    outgoing.once('close', () => leaving.abort())
    const init = { method: incoming.method, headers: incoming.headers, signal: leaving.signal, ...body }
    const response = await handler.fetch(new Request(`http://127.0.0.1${incoming.url}`, init))
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    for await (const chunk of response.body ?? []) outgoing.write(chunk)
    outgoing.end()
  })
  const port = process.argv[process.argv.indexOf('--http') + 1]
  http.listen(Number(port), '127.0.0.1', () => console.log(http.address().port))
} else {
  serveStdio(makeServer)
}
