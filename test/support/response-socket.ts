import { once } from 'node:events'
import { WebSocket } from 'ws'
import type { Json } from './responses.ts'

/** A WebSocket as a client has it: one request after the other, each with its events. */
export interface SocketClient {
  readonly socket: WebSocket
  send(message: object | string): void
  /** Sends a request, and returns its events: the last is that of the end, or an error. */
  ask(message: object): Promise<Json[]>
  /** Returns the next event. */
  next(): Promise<Json>
  /** Code with which the connection was closed. */
  readonly closed: Promise<number>
}

const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled', 'error'])

/** @param url of the server, with http */
export async function openSocket(url: string, headers: Readonly<Record<string, string>> = {}): Promise<SocketClient> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers })
  const events: Json[] = []
  let wake = () => {}
  socket.on('message', (data) => {
    events.push(JSON.parse(data.toString()))
    wake()
  })
  const closed = new Promise<number>((resolve) => {
    socket.once('close', (code) => {
      resolve(code)
      wake()
    })
  })
  await once(socket, 'open')
  const next = async (): Promise<Json> => {
    while (events.length === 0 && socket.readyState === WebSocket.OPEN) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    return events.shift()
  }
  const send = (message: object | string) =>
    socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  return {
    socket,
    send,
    next,
    closed,
    async ask(message) {
      send({ type: 'response.create', ...message })
      const seen: Json[] = []
      for (let event = await next(); event; event = await next()) {
        seen.push(event)
        if (ENDS.has(event.type)) break
      }
      return seen
    },
  }
}

/** Status and body of the answer to an upgrade that is refused. */
export async function refuseSocket(url: string, headers: Readonly<Record<string, string>>, path = '/v1/responses') {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, { headers })
  socket.on('error', () => {})
  const [, response] = await once(socket, 'unexpected-response')
  let body = ''
  for await (const chunk of response) body += chunk
  return { status: response.statusCode as number, body: JSON.parse(body) as Json }
}
