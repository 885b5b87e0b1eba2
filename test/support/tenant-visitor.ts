import { createHash, randomUUID } from 'node:crypto'
import { type ReadBody, readAsItComes } from './read-stream.ts'
import type { Json } from './responses.ts'

const keyOf = (name: string) => `key-of-${name}`

interface NamedKey {
  readonly name: string
  readonly tenant?: string
  readonly scopes: readonly string[]
  readonly agents?: readonly string[]
  readonly limits?: object
}

/** Returns the text of a file of keys. */
export function keysFile(keys: readonly NamedKey[], tenants?: readonly object[]): string {
  const entries = keys.map((key) => {
    const digest = createHash('sha256').update(keyOf(key.name)).digest('hex')
    return { ...key, digest: `sha256:${digest}` }
  })
  return JSON.stringify({ keys: entries, ...(tenants && { tenants }) })
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
  readonly json: Json
}

const ID =
  /\b(?:(?:resp|conv|mcpr|msg|fc|mcp|rs|cmp|chatcmpl)[_-][0-9a-f-]{20,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/g

/** Holder of a key of a tenant, and everything that it was ever sent. */
export class Visitor {
  readonly tenant: string
  /** Text that this tenant alone sends, with everything. */
  readonly secret: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Bodies of all answers so far. */
  readonly received: string[] = []
  #live: ReadBody | undefined
  #leave = new AbortController()

  constructor(url: string, tenant: string, key: string) {
    this.url = url
    this.tenant = tenant
    this.secret = `secret-of-${key}`
    this.headers = { authorization: `Bearer ${keyOf(key)}` }
  }

  async ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const reply = await fetch(this.url + path, {
      method,
      headers: { ...this.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    this.received.push(JSON.stringify([...reply.headers]), text)
    return { status: reply.status, headers: reply.headers, body: text, json: parse(text) }
  }

  async graphql(query: string): Promise<Json> {
    return (await this.ask('POST', '/api/ui/graphql', { query })).json
  }

  /** Begins to read the live stream. */
  async openLive(): Promise<void> {
    const reply = await fetch(`${this.url}/api/ui/live`, { headers: this.headers, signal: this.#leave.signal })
    this.#live = readAsItComes(reply)
  }

  get live(): string {
    return this.#live?.text() ?? ''
  }

  /** Ids that it was sent. */
  get ids(): Set<string> {
    return new Set([...this.received, this.live].flatMap((text) => text.match(ID) ?? []))
  }

  close(): void {
    this.#leave.abort()
  }
}

/** An id of the same shape that nobody has. */
export function madeUp(id: string): string {
  // Sealed for its tenant.
  if (id.startsWith('v1.')) return [...id].map((char, index) => (index > 40 && index < 50 ? 'A' : char)).join('')
  const digits = randomUUID().replaceAll('-', '')
  // The time and the place stay as they are: only whose it is, is not known.
  return id.replace(/-([0-9a-f]{4})-([0-9a-f]{7})/, `-${digits.slice(0, 4)}-${digits.slice(4, 11)}`)
}

function parse(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
