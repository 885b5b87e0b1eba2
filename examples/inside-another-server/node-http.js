import { createServer } from 'node:http'
import { buildServer } from 'agent-host'

const agents = await buildServer({
  projectDir: import.meta.dirname,
  adapters: ['ChatCompatApiAdapter', 'McpApiAdapter'],
  logLevel: 'warn',
})
await agents.watch()

const server = createServer((request, response) => {
  if (request.url === '/') return response.end('The app itself')
  request.url = request.url?.replace(/^\/agents/, '')
  agents.handle(request, response)
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
