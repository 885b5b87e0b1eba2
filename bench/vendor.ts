import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const CALLS = 5
/** Pieces in which arguments and answers come, as vendors send them. */
const WORDS = 20

/** A model behind the wire format of chat completions: it calls its first tool five times, one after the other, and answers in words. */
export interface Vendor {
  /** Base URL. */
  readonly url: string
  stop(): void
}

export async function startVendor(): Promise<Vendor> {
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

interface Asked {
  readonly messages: readonly { readonly role: string }[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const piece of request.setEncoding('utf8')) body += piece
  const { messages, tools = [] } = JSON.parse(body) as Asked
  const done = messages.filter(({ role }) => role === 'tool').length
  const name = tools[0]?.function.name
  const deltas = name !== undefined && done < CALLS ? callOf(name, done) : wordsOf()
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const delta of deltas) response.write(chunk([{ index: 0, delta, finish_reason: null }]))
  const reason = deltas.some((delta) => 'tool_calls' in delta) ? 'tool_calls' : 'stop'
  response.write(chunk([{ index: 0, delta: {}, finish_reason: reason }]))
  const usage = { prompt_tokens: 100, completion_tokens: WORDS, total_tokens: 100 + WORDS }
  response.end(`${chunk([], { usage })}data: [DONE]\n\n`)
}

function callOf(name: string, done: number): object[] {
  const pieces = ['', '{"ci', 'ty":"', 'To', 'kyo', ` ${done}"}`]
  return pieces.map((text, index) => {
    const first = { id: `call_${done}`, type: 'function', function: { name, arguments: text } }
    return { tool_calls: [{ index: 0, ...(index === 0 ? first : { function: { arguments: text } }) }] }
  })
}

function wordsOf(): object[] {
  return Array.from({ length: WORDS }, () => ({ content: 'word ' }))
}

function chunk(choices: readonly object[], more: object = {}): string {
  const fields = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more }
  return `data: ${JSON.stringify(fields)}\n\n`
}
