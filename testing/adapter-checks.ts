import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { ServerOptions } from 'agent-host'
import { AGENTS } from './agents.ts'
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
  /** Statuses of errors where the protocol has others than HTTP: `{ unauthorized: 401 }`. */
  readonly statuses?: { readonly unknownAgent?: number; readonly failure?: number }
  /** Header that carries a key. Default: `authorization`, as a bearer. */
  readonly keyHeader?: string
}

/** One promise of every adapter: `it(title, run)`. */
export interface AdapterCheck {
  readonly title: string
  run(): Promise<void>
}

const KEY = 'key-of-the-checks-1'
const KEYS_FILE = `keys:
  - { name: ada, digest: 'sha256:${createHash('sha256').update(KEY).digest('hex')}', tenant: acme, scopes: [run] }
`

/**
 * Returns the checks that every adapter passes, for any runner of tests: `for (const { title, run } of listAdapterChecks(subject)) it(title, run)`.
 * Each starts a server of its own.
 */
export function listAdapterChecks(subject: AdapterSubject): readonly AdapterCheck[] {
  const { ask, readText, readError, statuses } = subject
  const check = (title: string, run: (served: Served) => Promise<void>, options: Partial<ServerOptions> = {}) => ({
    title,
    run: () => withServed(subject, options, run),
  })
  return [
    check('answers with what the agent says', async ({ send }) => {
      const { statusCode, body } = await send(ask('echo', 'hello'))
      assert.deepEqual([statusCode, readText(body)], [200, 'hello'])
    }),
    check('answers an unknown agent with an error of the protocol', async ({ send }) => {
      const { statusCode, body } = await send(ask('nobody', 'hello'))
      assert.equal(statusCode, statuses?.unknownAgent ?? 404)
      assert.notEqual(readError(body), '')
    }),
    check('answers a failed agent with an error of the protocol, and without its reason', async ({ send }) => {
      const { statusCode, body } = await send(ask('failing', 'hello'))
      assert.equal(statusCode, statuses?.failure ?? 500)
      assert.doesNotMatch(readError(body), /hidden reason/)
    }),
    check(
      'lets in no request without its key, with an error of the protocol',
      async ({ send, withKey }) => {
        const { statusCode, body } = await send(ask('echo', 'hello'))
        assert.equal(statusCode, 401)
        assert.notEqual(readError(body), '')
        assert.equal((await send(withKey(ask('echo', 'hello'), 'key-of-nobody'))).statusCode, 401)
        assert.equal(readText((await send(withKey(ask('echo', 'hello'), KEY))).body), 'hello')
      },
      { keys: 'keys.yml' },
    ),
  ]
}

/** A server for one check. */
interface Served extends ServedAdapter {
  send(request: AskedRequest): Promise<{ readonly statusCode: number; readonly body: string }>
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
