import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'

/**
 * Proxy that hands requests to servers in turn, without affinity. As nginx does, it asks the next one where nothing was sent yet, or
 * the answer was 503; a request that may have been carried out is never sent again.
 */
export class Balancer {
  /** Addresses of the servers. */
  targets: readonly string[]
  readonly url: string
  readonly #server: Server
  /** Connections of WebSockets: Node's server does not close them. */
  readonly #upgraded = new Set<Duplex>()
  #turn = 0

  private constructor(server: Server, targets: readonly string[]) {
    this.#server = server
    this.targets = targets
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (incoming, outgoing) => void this.#pass(incoming, outgoing))
    server.on('upgrade', (incoming, client, head) => this.#passUpgrade(incoming, client, head))
  }

  static async open(targets: readonly string[] = []): Promise<Balancer> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new Balancer(server, targets)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    for (const client of this.#upgraded) client.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming).catch(() => undefined)
    // The client has left.
    if (body === undefined) return
    const attempts = 3 * this.targets.length
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const answer = await ask(this.#nextTarget(), incoming, body, outgoing).catch(
        (error: NodeJS.ErrnoException) => error,
      )
      const isLast = attempt === attempts
      if (!(answer instanceof Error) && (answer.statusCode !== 503 || isLast)) return passBack(answer, outgoing)
      if (answer instanceof Error && (answer.code !== 'ECONNREFUSED' || isLast))
        return void outgoing.writeHead(502).end()
      if (!(answer instanceof Error)) answer.resume()
    }
  }

  /** The bytes of a WebSocket, its handshake included. */
  #passUpgrade({ method, url, rawHeaders }: IncomingMessage, client: Duplex, head: Buffer): void {
    const { hostname, port } = new URL(this.#nextTarget())
    const server = connect(Number(port), hostname)
    const lines = Array.from(
      { length: rawHeaders.length / 2 },
      (_, n) => `${rawHeaders[2 * n]}: ${rawHeaders[2 * n + 1]}`,
    )
    server.write(`${method} ${url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    server.write(head)
    // If its server is gone first, nobody reads the end of a client.
    this.#upgraded.add(client)
    client.once('close', () => this.#upgraded.delete(client))
    client.pipe(server).pipe(client)
    client.on('error', () => server.destroy())
    server.on('error', () => client.destroy())
  }

  #nextTarget(): string {
    return this.targets[this.#turn++ % this.targets.length] as string
  }
}

function ask(
  target: string,
  { method, url, headers }: IncomingMessage,
  body: Buffer,
  outgoing: ServerResponse,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = { method: method as string, headers: { ...headers, connection: 'close' }, agent: false }
    const asked = request(target + url, options, resolve)
    asked.on('error', reject)
    outgoing.once('close', () => asked.destroy())
    asked.end(body)
  })
}

function passBack(answer: IncomingMessage, outgoing: ServerResponse): void {
  answer.on('error', () => outgoing.destroy())
  const { connection: _, ...headers } = answer.headers
  outgoing.writeHead(answer.statusCode as number, headers)
  // An event stream begins before it has an event.
  outgoing.flushHeaders()
  answer.pipe(outgoing)
}
