import { agentHost } from 'agent-host'
import fastify from 'fastify'

const app = fastify()
app.get('/', () => 'The app itself')
app.register(agentHost, {
  prefix: '/agents',
  projectDir: import.meta.dirname,
  adapters: ['ChatCompatApiAdapter', 'McpApiAdapter'],
  logLevel: 'warn',
})
console.log(await app.listen({ port: Number(process.env.PORT ?? 3000) }))
