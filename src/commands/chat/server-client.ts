import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { badOption, HostError, messageOf } from '../../errors.ts'
import { fieldsOf } from '../../json.ts'

/** Requests to a running server, with errors that name the next step. */
export class ServerClient {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>

  constructor(url: string, apiKey: string | undefined) {
    this.#url = url.replace(/\/+$/, '')
    this.#headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  }

  /** @throws HostError for a server that cannot be reached, or refuses */
  async request(path: string, init: RequestInit = {}): Promise<Response> {
    return this.requireOk(await this.fetch(path, init))
  }

  /** @throws HostError for an answer that refuses */
  async requireOk(response: Response): Promise<Response> {
    if (response.ok) return response
    const text = await response.text()
    const detail = /"detail":\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1]
    const reason = detail ? JSON.parse(detail) : text
    const code = response.status === 400 ? 'REQUEST_INVALID' : 'AGENT_FAILED'
    throw new HostError(code, `${this.#url} answered ${response.status}: ${reason}`)
  }

  /** Fetches an answer of any type. */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers: Record<string, string> = { ...this.#headers }
    if (init.body) headers['content-type'] = 'application/json'
    return fetch(`${this.#url}${path}`, { ...init, headers }).catch((cause: unknown) => {
      if (init.signal?.aborted) throw cause
      throw badOption(`Cannot reach ${this.#url}: ${messageOf(fieldsOf(cause).cause ?? cause)}`, {
        suggestions: ['Start the server: agent-host dev', 'Without --url the agents run in this process.'],
        cause,
      })
    })
  }

  async json<T>(path: string, init?: RequestInit): Promise<T> {
    return (await (await this.request(path, init)).json()) as T
  }
}

/** The JSON of each event of a stream. */
export async function* readServerEvents<T>(response: Response): AsyncGenerator<T> {
  const lines = createInterface({ input: Readable.fromWeb(response.body as ReadableStream) })
  for await (const line of lines) if (line.startsWith('data: {')) yield JSON.parse(line.slice('data: '.length)) as T
}
