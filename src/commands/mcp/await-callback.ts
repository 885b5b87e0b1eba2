import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CALLBACK_PATH } from '../../wiring/plan-agent.ts'

/** Place on this machine to which a browser is sent back (RFC 8252, section 7.3). */
export interface Callback {
  /** `http://127.0.0.1:<port>` */
  readonly publicUrl: string
  /** Returns the query with which the browser comes back for this `state`. */
  queryFor(state: string): Promise<string>
  close(): void
}

const HERE = 'http://127.0.0.1'

/** @param port 0 for a free one */
export async function awaitCallback(port: number): Promise<Callback> {
  const waiting = new Map<string, (query: string) => void>()
  const server = createServer((request, response) => {
    const { url: target = '/' } = request
    const { pathname, search, searchParams } = new URL(URL.canParse(target, HERE) ? target : '/', HERE)
    const state = searchParams.get('state') ?? ''
    const resolve = pathname === CALLBACK_PATH ? waiting.get(state) : undefined
    waiting.delete(state)
    const text = resolve ? 'Done. You can close this window.' : 'No sign-in waits for this answer.'
    response
      .writeHead(resolve ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
      .end(text)
    resolve?.(search.slice(1))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    publicUrl: `${HERE}:${(server.address() as AddressInfo).port}`,
    queryFor: (state) => new Promise((resolve) => void waiting.set(state, resolve)),
    close: () => void server.close(),
  }
}
