import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface RudeMcpServer {
  /** Tools of the list, as they go over the wire. */
  tools: unknown
  /** Fields of the list beside `tools`. */
  listFields?: object
  /** Result of every call, or an error of JSON-RPC; default: a text that names the tool. */
  result?: (name: string) => { result?: unknown; error?: object }
  /** Names of the tools that were called. */
  readonly calls: string[]
  /** Number of lists that were read. */
  lists: number
  /** Answers everything in place of MCP. */
  instead?: ((request: IncomingMessage, answer: ServerResponse) => void) | undefined
  /** Answers the request for a stream; default: there is none. */
  stream?: (answer: ServerResponse) => void
  /** Called with each call of a tool. */
  onCall?: () => void
  /** Calls of tools are answered after it. */
  hold?: Promise<void>
}

const MODERN = '2026-07-28'

/** An MCP server over HTTP that sends what it is told to, whatever the protocol says. */
export async function startRudeMcpServer(tools: unknown, { isModern = false } = {}) {
  const rude: RudeMcpServer = { tools, calls: [], lists: 0 }
  const complete = isModern ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {}
  const answerTo = ({ method, params }: { method: string; params: { name: string } }): object => {
    if (method === 'server/discover' && isModern)
      return { result: { ...complete, supportedVersions: [MODERN], capabilities: { tools: {} } } }
    if (method === 'initialize' && isModern) throw new Error('not modern')
    if (method === 'initialize')
      return {
        result: {
          protocolVersion: '2025-06-18',
          serverInfo: { name: 'rude', version: '1' },
          capabilities: { tools: {} },
        },
      }
    if (method === 'tools/list') {
      rude.lists++
      return { result: { ...complete, tools: rude.tools, ...rude.listFields } }
    }
    if (method !== 'tools/call') return { error: { code: -32601, message: 'Method not found' } }
    rude.calls.push(params.name)
    const { result, error } = rude.result?.(params.name) ?? {
      result: { content: [{ type: 'text', text: `called ${params.name}` }] },
    }
    return error ? { error } : { result: { ...complete, ...(result as object) } }
  }
  const server = createServer(async (request, answer) => {
    if (rude.instead) return rude.instead(request, answer)
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method === 'GET' && rude.stream) return rude.stream(answer)
    if (request.method !== 'POST') return answer.writeHead(405).end()
    const message = JSON.parse(text)
    if (message.id === undefined) return answer.writeHead(202).end()
    if (message.method === 'tools/call') {
      rude.onCall?.()
      await rude.hold
    }
    answer.writeHead(200, { 'content-type': 'application/json' })
    answer.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answerTo(message) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { rude, url, close }
}
