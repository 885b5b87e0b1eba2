// The floor of the debug UI's API: a Fastify that parses a body and answers a list of agents.
import { readdirSync } from 'node:fs'
import fastify from 'fastify'
import { report } from './report.js'

const agents = readdirSync(new URL('../project/agents', import.meta.url)).sort()
const data = { list_agents: agents.map((file) => ({ id: file.replace('.yml', '') })) }
const app = fastify()
app.post('/api/ui/graphql', (_request, reply) => {
  reply.send({ data })
})
report(await app.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }))
