// An MCP server that answers by a seed whatever no server should: hostile-mcp-server.js <seed>
import { createInterface } from 'node:readline'

let state = Number(process.argv[2] ?? 1) >>> 0
const next = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * below)
}
const WEIRD = [null, 0, -1, '', '\u0000', [], {}, true, 'x'.repeat(100_000), [[[[]]]], { type: 'object' }, '2.0', 1e308]
const weird = () => WEIRD[next(WEIRD.length)]
const write = (message) => process.stdout.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`)
const SCHEMAS = [
  { type: 'object' },
  { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } },
  { type: 'object', properties: { a: { $ref: '#' } } },
  { $ref: 'https://elsewhere.test/schema.json', type: 'object' },
  { type: 'object', required: 7, properties: 'none' },
]
const tool = () => ({
  name: ['add', 'a b/c', '__proto__', 'x'.repeat(300), ''][next(5)],
  description: ['Adds.', '\u001b[2J', weird()][next(3)],
  inputSchema: SCHEMAS[next(SCHEMAS.length)],
})
const contents = () =>
  ['text', 'image', 'audio', 'resource', 'resource_link', 'none'].map((type) => ({
    type,
    text: weird(),
    data: weird(),
    mimeType: weird(),
  }))

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  if (next(30) === 0) process.exit(next(3))
  if (next(12) === 0) write(['no JSON', '{"half":', '[]', 'null', '{"jsonrpc":"2.0"}'][next(5)])
  if (next(12) === 0) write({ jsonrpc: '2.0', id: weird(), result: weird() })
  if (next(12) === 0) write({ jsonrpc: '2.0', id: 'mine', method: 'sampling/createMessage', params: weird() })
  if (next(12) === 0)
    write({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: weird(), progress: weird() } })
  if (next(12) === 0) write({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  if (method === 'initialize') {
    const result = {
      protocolVersion: '2025-06-18',
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'hostile', version: '1' },
    }
    return write({ jsonrpc: '2.0', id, result: next(10) === 0 ? weird() : result })
  }
  if (method === 'tools/list') {
    const tools = [
      { name: 'add', description: 'Adds.', inputSchema: { type: 'object' } },
      ...Array.from({ length: next(4) }, tool),
    ]
    return write({
      jsonrpc: '2.0',
      id,
      result: next(8) === 0 ? weird() : { tools, nextCursor: next(15) === 0 ? weird() : undefined },
    })
  }
  if (method === 'tools/call') {
    const answers = [
      { content: [{ type: 'text', text: 'fine' }] },
      { content: contents() },
      { content: weird(), isError: weird() },
      { structuredContent: weird(), content: [] },
      weird(),
    ]
    return next(10) === 0
      ? write({ jsonrpc: '2.0', id, error: weird() })
      : write({ jsonrpc: '2.0', id, result: answers[next(answers.length)] })
  }
  write({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } })
})
