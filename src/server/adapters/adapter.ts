import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import type { TObject } from 'typebox'
import type { AdapterRuns } from '../../durable/adapter-runs/adapter-runs.ts'
import type { RunService } from '../../durable/run-service.ts'
import type { AgentFolder } from '../../host/agent-folder/agent-folder.ts'
import type { AgentHost } from '../../host/host.ts'
import type { NameSeparator } from '../../host/registered-agents.ts'
import type { Sealing } from '../../protocols/sealing.ts'
import type { Redact } from '../../redaction/redact.ts'
import type { RecordStore } from '../../store/record-store.ts'
import type { GaugeSpec } from '../../telemetry/add-gauge.ts'
import type { Traces } from '../../trace/traces.ts'
import type { VariantChange } from '../../wire/variant.ts'
import type { NamedVariants } from '../named-variants.ts'
import type { ServerOptions } from '../options/options.ts'
import type { EventStreams } from '../streams/event-streams.ts'
import type { AdapterHttp } from './adapter-http.ts'
import type { Questions } from './ui/questions/questions.ts'

/**
 * Options that an adapter is built with.
 *
 * @example
 * ```ts
 * export async function answer(
 *   { host, tenantOf }: AdapterOptions,
 *   request: FastifyRequest,
 *   reply: FastifyReply,
 * ): Promise<FastifyReply> {
 *   const { text } = await host.run('example', String(request.body), { tenant: tenantOf(request) })
 *   return reply.send({ text })
 * }
 * ```
 */
export interface AdapterOptions {
  readonly host: AgentHost
  /** Puts `[redacted]` in the place of the secrets of the environment. */
  readonly redact: Redact
  readonly options: ServerOptions
  readonly log: FastifyBaseLogger
  /** Opens streams of server-sent events that are kept alive, bounded and drained with the server. */
  readonly streams: EventStreams
  /** Returns the message for clients when an agent fails: the reason only in debug mode, and never a secret. */
  readonly describeFailure: (error: unknown) => string
  /** True where the server lets in only requests with a key: it has checked theirs before a route is called. */
  readonly requiresKey: boolean
  /** Returns the tenant that a request belongs to, for the runs that it starts: `host.run(name, text, { tenant })`. */
  readonly tenantOf: (request: FastifyRequest) => string
  /** Runs that outlive their request: opened at their first use. Data of an adapter is stored under the name that it is served by. */
  readonly runs: AdapterRuns
  /**
   * Opens the variant that the header `x-agent-variant` of a request names, for its turn: `{ ..., variant: await variantOf(request, name) }`.
   * Returns undefined for a request without it.
   */
  readonly variantOf: (
    request: FastifyRequest,
    name: string,
    separator?: NameSeparator,
  ) => Promise<readonly VariantChange[]> | undefined
  /** Encrypts what a client keeps for the server, such as the signatures of a vendor. */
  readonly sealing: Sealing
  /** Serves turns, streams, errors, decisions, and descriptions of routes. */
  readonly http: AdapterHttp
  /** Options of this adapter alone, checked against its `config` schema where it has one. */
  readonly config: Readonly<Record<string, unknown>>
}

/** Options of the built-in adapters that keep records of their own beside durable runs. */
export interface StoreAdapterOptions extends AdapterOptions {
  /** Opens the store of the project; the adapter closes it. */
  readonly openRecords: () => Promise<RecordStore>
  readonly durableRuns: RunService
  /** True where the routes of the inbox are served: the place of links to what waits. */
  readonly servesInbox: boolean
}

/** Options of the debug UI, which looks behind the scenes. */
export interface DebugAdapterOptions extends StoreAdapterOptions {
  /** The files that the agents come from. */
  readonly agents: AgentFolder
  readonly variants: NamedVariants
  /** The adapters that are served, and whether they require a key. */
  readonly served: readonly { readonly name: string; readonly hasKey: boolean }[]
  /** Under `agent-host dev` with a terminal. */
  readonly questions?: Questions | undefined
  /** Traces of the agents; only in debug mode. */
  readonly traces?: Traces | undefined
}

/**
 * Serves agents over one protocol. Users' own adapters are the same as the built-in ones.
 *
 * @example
 * ```ts
 * export class PingAdapter implements Adapter {
 *   readonly #options: AdapterOptions
 *
 *   constructor(options: AdapterOptions) {
 *     this.#options = options
 *   }
 *
 *   adapt(app: FastifyInstance): void {
 *     const { http } = this.#options
 *     app.post<{ Body: { agent: string; text: string } }>('/ping', async ({ body }, reply) => {
 *       const run = http.startTurn(reply, body.agent, { messages: [{ role: 'user', content: body.text }] })
 *       return { text: (await run.result).text }
 *     })
 *   }
 * }
 * ```
 */
export interface Adapter {
  /**
   * True for an adapter that checks its requests itself: the server then asks for no key. Where keys name scopes, its visitors have none,
   * until it names the sender that it has verified with `http.identify`. Default: false.
   */
  readonly checksItself?: boolean
  /** Adds its routes to an encapsulated Fastify instance. */
  adapt(app: FastifyInstance): void | Promise<void>
  /** Fails while the adapter cannot serve because a dependency does not answer: `/readyz` is then 503. */
  checkReady?(): Promise<void>
  /**
   * Removes what it keeps of a user in memory when their data is deleted, after their runs have ended.
   *
   * @returns the number of things
   */
  forgetUser?(tenant: string, user: string): number | Promise<number>
  /** Metrics of its own for `/metrics`. */
  readonly gauges?: readonly GaugeSpec[]
}

/** Key of an adapter's own. Keys of the file of keys are accepted beside it. */
export interface AdapterKey {
  /** Header in which clients of the protocol send a key beside `Authorization: Bearer`, in lower case: `x-api-key`. The adapter sees neither. */
  readonly header?: string
  /** Environment variable of the key; `--adapter-option <Adapter>.api_key=<key>` goes before it. */
  readonly variable?: string
}

/** Class of an adapter, as a project or package exports it. */
export interface AdapterClass<Options = AdapterOptions> {
  new (options: Options): Adapter
  /** JSON Schema of the adapter's own options; defaults are filled in, and texts converted. */
  readonly config?: TObject
  /** Left out, the adapter has no key of its own, and requests carry keys as bearers. */
  readonly key?: AdapterKey
}
