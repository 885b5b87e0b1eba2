import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { badOption, HostError, messageOf } from '../../errors.ts'
import { fieldsOf } from '../../json.ts'

/** Request to a server. */
export interface SentRequest {
  readonly method?: 'GET' | 'POST'
  readonly body?: string
  readonly signal?: AbortSignal
}

export type Send = (
  url: string,
  request: SentRequest & { readonly headers: Record<string, string> },
) => Promise<Response>

/** Requests to a running server, with errors that name the next step. */
export class ServerClient {
  readonly url: string
  readonly #advice: string
  readonly #send: Send
  readonly #headers: Readonly<Record<string, string>>

  /** @param advice what else to do when the server cannot be reached */
  constructor(url: string, apiKey: string | undefined, advice: string, send: Send = fetch) {
    this.url = url.replace(/\/+$/, '')
    this.#advice = advice
    this.#send = send
    this.#headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  }

  /** @throws HostError for a server that cannot be reached, or refuses */
  async request(path: string, init: SentRequest = {}): Promise<Response> {
    return this.requireOk(await this.fetch(path, init))
  }

  /** @throws HostError for an answer that refuses */
  async requireOk(response: Response): Promise<Response> {
    if (response.ok) return response
    const text = await response.text()
    const detail = /"detail":\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1]
    const reason = detail ? JSON.parse(detail) : text
    const code = response.status === 400 ? 'REQUEST_INVALID' : 'AGENT_FAILED'
    throw new HostError(code, `${this.url} answered ${response.status}: ${reason}`)
  }

  /** Fetches an answer of any type. */
  async fetch(path: string, init: SentRequest = {}): Promise<Response> {
    const headers = { ...this.#headers, ...(init.body ? { 'content-type': 'application/json' } : {}) }
    return this.#send(`${this.url}${path}`, { ...init, headers }).catch((cause: unknown) => {
      if (init.signal?.aborted) throw cause
      throw badOption(`Cannot reach ${this.url}: ${messageOf(fieldsOf(cause).cause ?? cause)}`, {
        suggestions: ['Start the server: agent-host dev', this.#advice],
        cause,
      })
    })
  }

  async json<T>(path: string, init?: SentRequest): Promise<T> {
    return (await (await this.request(path, init)).json()) as T
  }
}

/** The JSON of each event of a stream. */
export async function* readServerEvents<T>(response: Response): AsyncGenerator<T> {
  const lines = createInterface({ input: Readable.fromWeb(response.body as ReadableStream) })
  for await (const line of lines) if (line.startsWith('data: {')) yield JSON.parse(line.slice('data: '.length)) as T
}
