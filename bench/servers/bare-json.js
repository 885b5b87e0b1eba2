// The floor of the debug UI's API: a Fastify that parses a body and answers a list of agents.
import fastify from 'fastify'
import { report } from './report.js'

const app = fastify()
app.post('/api/ui/graphql', (_request, reply) => {
  reply.send({
    data: {
      list_agents: [
        { id: 'caller' },
        { id: 'echo' },
        { id: 'patient' },
        { id: 'sight' },
        { id: 'slow' },
        { id: 'twenty' },
      ],
    },
  })
})
report(await app.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }))
