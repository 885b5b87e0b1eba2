import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { ServerOptions } from 'agent-host'
import { AGENTS, holdNextRun } from './agents.ts'
import { type ServedAdapter, serveAdapter, type TestedAdapter } from './serve-adapter.ts'

/** A request as `app.inject` takes it. */
export interface AskedRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly payload?: object | string
  readonly headers?: Readonly<Record<string, string>>
}

/** An adapter as the checks see it: how its protocol asks, and how it answers. */
export interface AdapterSubject {
  readonly adapter: TestedAdapter
  /** Options of the adapter itself. */
  readonly config?: Readonly<Record<string, unknown>>
  /** Request that has an agent answer a text. */
  ask(agent: string, text: string): AskedRequest
  /** Returns the text of the answer to such a request. */
  readText(body: string): string
  /** Returns the message of an error body; throws for a body that is no error of the protocol. */
  readError(body: string): string
  /** Returns the status of an error where the protocol has another one than HTTP: 404 is that of an unknown agent. */
  statusOf?(status: number): number
  /** Path of the request in `/openapi.json`, where it has parameters: `/notes/{agent}`. */
  readonly describedPath?: string
  /** Header that carries a key. Default: `authorization`, as a bearer. */
  readonly keyHeader?: string
}

/** One promise of every adapter: `it(title, run)`. */
export interface AdapterCheck {
  readonly title: string
  run(): Promise<void>
}

const KEYS = {
  ada: 'key-of-the-checks-1',
  other: 'key-of-the-checks-2',
  clerk: 'key-of-the-checks-3',
  rare: 'key-of-the-checks-4',
}

/** @param more fields of single keys */
function keysFile(more: Readonly<Record<string, string>>): string {
  const entries = Object.entries(KEYS).map(([name, key]) => {
    const digest = `sha256:${createHash('sha256').update(key).digest('hex')}`
    return `  - { name: ${name}, digest: '${digest}', tenant: acme, ${more[name] ?? 'scopes: [run]'} }\n`
  })
  return `keys:\n${entries.join('')}`
}

const KEYS_FILE = keysFile({
  other: 'scopes: [run], adapters: [NoSuchAdapter]',
  clerk: 'scopes: [approve]',
  rare: 'scopes: [run], agents: [echo], limits: { requests_per_minute: 1 }',
})

/**
 * Returns the checks that every adapter passes, for any runner of tests: `for (const { title, run } of listAdapterChecks(subject)) it(title, run)`.
 * Each starts a server of its own.
 */
export function listAdapterChecks(subject: AdapterSubject): readonly AdapterCheck[] {
  const { ask, readText, readError, describedPath } = subject
  const check = (title: string, run: (served: Served) => Promise<void>, options: Partial<ServerOptions> = {}) => ({
    title,
    run: () => withServed(subject, options, run),
  })
  const assertRefused = ({ statusCode, body }: Reply, status: number) => {
    assert.equal(statusCode, subject.statusOf?.(status) ?? status, body)
    assert.notEqual(readError(body), '')
  }
  const hello = ask('echo', 'hello')
  return [
    check('answers with what the agent says, and finds it in the OpenAPI document', async ({ send }) => {
      const { statusCode, body } = await send(hello)
      assert.deepEqual([statusCode, readText(body)], [200, 'hello'])
      const document = JSON.parse((await send({ method: 'GET', url: '/openapi.json' })).body)
      const path = describedPath ?? hello.url.split('?')[0] ?? ''
      assert.ok(document.paths[path]?.[hello.method.toLowerCase()], `${path} is not in /openapi.json`)
    }),
    check('answers an unknown agent with an error of the protocol', async ({ send }) => {
      assertRefused(await send(ask('nobody', 'hello')), 404)
    }),
    check('answers a failed agent with an error of the protocol, and without its reason', async ({ send }) => {
      const reply = await send(ask('failing', 'hello'))
      assertRefused(reply, 500)
      assert.doesNotMatch(reply.body, /hidden reason/)
    }),
    check('answers a body that is no JSON with an error of the protocol', async ({ send }) => {
      const headers = { ...hello.headers, 'content-type': 'application/json' }
      assertRefused(await send({ ...hello, headers, payload: '{' }), 400)
    }),
    check(
      'answers a body that is too large with an error of the protocol',
      async ({ send }) => assertRefused(await send(ask('echo', 'x'.repeat(5000))), 413),
      { bodyLimit: 4096 },
    ),
    check(
      'lets in no request without its key, and gives a run the tenant of its key',
      async ({ send, withKey }) => {
        assertRefused(await send(hello), 401)
        assertRefused(await send(withKey(hello, 'key-of-nobody')), 401)
        assert.equal(readText((await send(withKey(ask('tenant', 'hello'), KEYS.ada))).body), 'acme')
      },
      { keys: 'keys.yml' },
    ),
    check(
      'holds a key to its adapters, scopes, agents and limits',
      async ({ send, withKey }) => {
        assertRefused(await send(withKey(hello, KEYS.other)), 403)
        assertRefused(await send(withKey(hello, KEYS.clerk)), 403)
        assert.equal((await send(withKey(hello, KEYS.rare))).statusCode, 200)
        assertRefused(await send(withKey(ask('tenant', 'hello'), KEYS.rare)), 404)
        assertRefused(await send(withKey(hello, KEYS.rare)), 429)
      },
      { keys: 'keys.yml' },
    ),
    check('refuses a foreign host, and lets pages of other origins read its answers', async ({ send }) => {
      const withHeader = (name: string, value: string) => ({ ...hello, headers: { ...hello.headers, [name]: value } })
      assert.equal((await send(withHeader('host', 'foreign.test'))).statusCode, 403)
      const { headers } = await send(withHeader('origin', 'https://page.test'))
      assert.equal(headers['access-control-allow-origin'], 'https://page.test')
    }),
    check('aborts a run whose client leaves', async ({ server }) => {
      const held = holdNextRun()
      const leaving = new AbortController()
      const { method, url, headers, payload } = ask('held', 'hello')
      const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
      const sent = fetch(`${await server.listen()}${url}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        body,
        signal: leaving.signal,
      }).catch(() => {})
      await held.begun
      leaving.abort()
      await Promise.all([held.aborted, sent])
    }),
    check(
      'refuses new requests while the server closes, and answers those that it has begun',
      async ({ send, server }) => {
        const held = holdNextRun()
        const running = send(ask('held', 'hello'))
        await held.begun
        const closing = server.close()
        assertRefused(await send(hello), 503)
        held.release()
        assert.equal(readText((await running).body), 'held')
        await closing
      },
      { drainTimeout: 30 },
    ),
  ]
}

type Reply = Awaited<ReturnType<Served['send']>>

/** A server for one check. */
interface Served extends ServedAdapter {
  send(request: AskedRequest): Promise<{
    readonly statusCode: number
    readonly headers: Readonly<Record<string, unknown>>
    readonly body: string
  }>
  withKey(request: AskedRequest, key: string): AskedRequest
}

async function withServed(
  { adapter, config, keyHeader = 'authorization' }: AdapterSubject,
  options: Partial<ServerOptions>,
  run: (served: Served) => Promise<void>,
): Promise<void> {
  const adapterOptions = config ? { adapterOptions: { [adapter.name]: config } } : {}
  const files = { ...AGENTS, 'keys.yml': KEYS_FILE }
  const served = await serveAdapter(adapter, { files, options: { ...adapterOptions, ...options } })
  try {
    await run({
      ...served,
      send: (request) => served.server.app.inject(request),
      withKey: (request, key) => ({
        ...request,
        headers: { ...request.headers, [keyHeader]: keyHeader === 'authorization' ? `Bearer ${key}` : key },
      }),
    })
  } finally {
    await served[Symbol.asyncDispose]()
  }
}
