// The floor of tools/call: a Fastify with nothing but two schemas, that answers the same bytes.
import fastify from 'fastify'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { report } from './report.js'

const Request = Type.Object({
  jsonrpc: Type.Literal('2.0'),
  id: Type.Union([Type.String(), Type.Number()]),
  method: Type.Literal('tools/call'),
  params: Type.Object({ name: Type.String(), arguments: Type.Object({ message: Type.String() }) }),
})
const Text = Type.Object({ type: Type.Literal('text'), text: Type.String() })
const Answer = Type.Object({
  jsonrpc: Type.Literal('2.0'),
  id: Type.Number(),
  result: Type.Object({ content: Type.Array(Text) }),
})

const app = fastify()
app.setValidatorCompiler(({ schema }) => {
  const validator = Compile(schema)
  return (value) => (validator.Check(value) ? { value } : { error: new Error('invalid') })
})
app.post('/mcp', { schema: { body: Request, response: { 200: Answer } } }, (request, reply) => {
  const { id } = request.body
  reply.send({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'word '.repeat(20) }] } })
})

report(await app.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }))
