import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a fake model API was asked. */
export interface ModelRequest {
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: {
    model: string
    messages: object[]
    tools?: object[]
    stream?: boolean
    stream_options?: object
  } & Record<string, unknown>
}

export type Answer = (response: ServerResponse, request: ModelRequest) => void | Promise<void>

/** An API that speaks the wire format of streaming chat completions: each request gets the next of the answers. */
export async function startModelServer(...answers: Answer[]) {
  const requests: ModelRequest[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const received = { url: request.url, headers: request.headers, body: JSON.parse(text) }
    requests.push(received)
    const answer = answers[Math.min(requests.length, answers.length) - 1]
    await answer?.(response, received)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    stop: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
})

/** Streams deltas, and a usage chunk at the end; `cut` closes the connection in the middle instead. */
export function streams(deltas: object[], finish = 'stop', { cut = false } = {}): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const delta of deltas) response.write(`data: ${JSON.stringify(chunk(delta))}\n\n`)
    if (cut) {
      setTimeout(() => response.destroy(), 20)
      return
    }
    response.write(`data: ${JSON.stringify(chunk({}, finish))}\n\n`)
    const usage = {
      prompt_tokens: 11,
      completion_tokens: 7,
      total_tokens: 18,
      prompt_tokens_details: { cached_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 2 },
    }
    response.end(`data: ${JSON.stringify({ ...chunk({}), choices: [], usage })}\n\ndata: [DONE]\n\n`)
  }
}

export const event = (body: object) => `data: ${JSON.stringify(body)}\n\n`

/** Streams these events as they are. */
export function sends(...bodies: object[]): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(bodies.map(event).join(''))
  }
}

export function fails(status: number, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ error: { message: `refused with ${status}`, type: 'x', code: null } }))
  }
}
