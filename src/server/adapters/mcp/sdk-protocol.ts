import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type CallToolResult,
  createMcpHandler,
  fromJsonSchema,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type ListToolsResult,
  type McpHttpHandler,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  type ReadResourceResult,
  Server,
  type ServerCapabilities,
} from '@modelcontextprotocol/server'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { onAbort } from '../../../async.ts'
import { readTraceparent } from '../../bodies/read-traceparent.ts'
import { HIGH_WATER_BYTES, MAX_QUEUED_BYTES, READS_SLOWLY } from '../../streams/event-streams.ts'
import { signalOfLeaving } from '../../streams/serve-turn.ts'
import type { AdapterOptions } from '../adapter.ts'
import { canElicitForm, type ElicitationResponse, readResponse, toElicitation } from './elicitation/elicitation.ts'
import { JsonRpcError } from './json-rpc.ts'
import { SERVER_INFO } from './server-info.ts'
import type { AgentTools, Reader } from './tools/agent-tools.ts'
import type { CallOptions } from './tools/call.ts'
import { TASKS_EXTENSION, type TaskClient } from './tools/call-tasks.ts'
import type { ToolResult } from './tools/tool-result.ts'
import { SDK_VERSION } from './versions.ts'

const REQUEST_ID = 'x-request-id'
const STDIO = 'stdio'
/** Nothing depends on it, and the host that a client sends may not be an address. */
const ADDRESS = 'http://localhost/mcp'

/** Client of a server of the SDK. */
interface SdkClient extends Reader {
  /** Name of the person who answers questions; undefined where no one may be asked. */
  readonly decider: string | undefined
  /** Address of the server as it knows it; undefined over stdio. */
  readonly baseUrl: string | undefined
  readonly variantOf?: CallOptions['variantOf']
  /** Trace context of the HTTP request; undefined over stdio. */
  readonly traceparent: string | undefined
}

/** MCP from 2026-07-28 on, as the official SDK serves it: discovery, checks of headers, subscriptions to changes. */
export class SdkProtocol {
  readonly #handler: McpHttpHandler
  readonly #stopListening: () => void
  /** Clients by the ids of their requests: the SDK makes the server of a request by its headers. */
  readonly #clients = new Map<string, SdkClient>()

  constructor({ host, options }: Pick<AdapterOptions, 'host' | 'options'>, tools: AgentTools) {
    this.#handler = createMcpHandler(
      ({ requestInfo }) => {
        const requestId = requestInfo?.headers.get(REQUEST_ID) ?? ''
        const client = this.#clients.get(requestId)
        // Another's place would be the wrong one.
        if (!client) throw new Error(`The client of request '${requestId}' is not known.`)
        return makeSdkServer(tools, client)
      },
      { legacy: 'reject', keepAliveMs: options.streamingTimeout * 1000 },
    )
    this.#stopListening = host.onChange(() => this.#handler.notify.toolsChanged())
  }

  async answer(request: FastifyRequest, reply: FastifyReply, client: SdkClient): Promise<unknown> {
    const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
      value === undefined || name === REQUEST_ID ? [] : [[name, String(value)]],
    )
    // The server's own id, not the client's: the log contains it.
    headers.push([REQUEST_ID, request.id])
    const asked = new Request(ADDRESS, {
      method: 'POST',
      headers,
      signal: signalOfLeaving(reply),
    })
    this.#clients.set(request.id, client)
    try {
      return reply.send(await this.#handler.fetch(asked, { parsedBody: request.body }))
    } finally {
      this.#clients.delete(request.id)
    }
  }

  async close(): Promise<void> {
    this.#stopListening()
    await this.#handler.close()
  }
}

/** A server of the SDK for one request over HTTP, or for one connection over stdio. */
export function makeSdkServer(tools: AgentTools, client: SdkClient): Server {
  const { tenant, source, decider, baseUrl, variantOf, traceparent } = client
  const server = new Server(SERVER_INFO, { capabilities: capabilitiesOf(tools) })
  if (!tools.resources.isEmpty) addResources(server, tools, client)
  if (!tools.resources.skills.isEmpty) addSkills(server, tools, client)
  const deciderOfClient = () => (canElicitForm(server.getClientCapabilities()?.elicitation) ? decider : undefined)
  const toClient = () => ({ tenant, baseUrl, version: versionOf(server), decider: deciderOfClient() })
  if (tools.hasTasks) addTasks(server, tools, client, toClient)
  server.setRequestHandler('tools/list', ({ params }) =>
    inSdkTerms(() => tools.list(params?.cursor) as ListToolsResult),
  )
  server.setRequestHandler('tools/call', ({ params }, { mcpReq }) =>
    inSdkTerms(async () => {
      const progressToken = mcpReq._meta?.progressToken
      let progress = 0
      const untilRead = makeBackPressure(client.answer, mcpReq.signal)
      const onProgress = async (message: string) => {
        const read = untilRead(message.length)
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress: ++progress, message },
        })
        await read
      }
      const by = deciderOfClient()
      const answered = { state: mcpReq.requestState<string>(), responses: readResponses(mcpReq.inputResponses) }
      const call = tools.call(params, {
        version: versionOf(server),
        takesTasks: takesTasks(server),
        tenant,
        source,
        baseUrl,
        traceparent: readTraceparent(mcpReq._meta?.traceparent) ?? traceparent,
        elicitation: by === undefined ? undefined : { ...answered, by },
        onProgress: progressToken === undefined ? undefined : onProgress,
        variantOf,
      })
      onAbort(mcpReq.signal, () => call.abort('The client has cancelled the request.'))
      return call.answer(
        ({ waiting, task, ...result }) => {
          // The SDK gives every result of a tool a content.
          if (task) return { resultType: 'task', ...task, content: [] }
          return waiting ? askFor(waiting) : (result as CallToolResult)
        },
        (error) => {
          throw error
        },
      )
    }),
  )
  return server
}

/** Bytes that a notification of progress has around its message. */
const AROUND = 256

/**
 * Returns a function that makes an agent wait for a client that reads more slowly. The SDK keeps everything that the connection has not
 * accepted in memory, beyond all limits of the server.
 *
 * @throws Error if more than 1 MiB is queued because the agent does not await the promise
 */
function makeBackPressure(answer: Writable | undefined, signal: AbortSignal) {
  let unread = 0
  let reading: Promise<void> | undefined
  const read = async (connection: Writable) => {
    // The SDK writes queued messages in later turns of the event loop, as long as the connection accepts them.
    await nextTurn()
    while (connection.writableNeedDrain && !signal.aborted) {
      await once(connection, 'drain', { signal }).catch(() => {})
      await nextTurn()
    }
    unread = 0
    reading = undefined
  }
  return (length: number): Promise<void> | undefined => {
    // Over stdio the SDK already waits.
    if (!answer) return undefined
    unread += length + AROUND
    if (unread > MAX_QUEUED_BYTES && reading) throw new Error(READS_SLOWLY)
    if (unread >= HIGH_WATER_BYTES) reading ??= read(answer)
    return reading
  }
}

function capabilitiesOf({ moreCapabilities, hasTasks }: AgentTools): ServerCapabilities {
  const capabilities = { tools: { listChanged: true }, ...moreCapabilities }
  if (!hasTasks) return capabilities
  return { ...capabilities, extensions: { ...moreCapabilities.extensions, [TASKS_EXTENSION]: {} } }
}

/** The client of a connection over stdio. */
export function overStdio(log: FastifyBaseLogger): SdkClient {
  return { tenant: '', source: { id: STDIO, log }, decider: STDIO, baseUrl: undefined, traceparent: undefined }
}

function addResources(server: Server, tools: AgentTools, caller: Reader): void {
  const { resources } = tools
  server.setRequestHandler('resources/list', ({ params = {} }) =>
    inSdkTerms(async () => (await tools.read('resources/list', params, caller)) as ListResourcesResult),
  )
  server.setRequestHandler('resources/templates/list', () =>
    inSdkTerms(() => resources.listTemplates() as ListResourceTemplatesResult),
  )
  server.setRequestHandler('resources/read', ({ params }) =>
    inSdkTerms(async () => (await tools.read('resources/read', params, caller)) as ReadResourceResult),
  )
}

/** Parameters of methods of extensions, which the SDK does not know. */
const ANY = { params: fromJsonSchema<Readonly<Record<string, unknown>>>({ type: 'object' }) }

function addSkills(server: Server, tools: AgentTools, caller: Reader): void {
  for (const method of ['skills/list', 'skills/get'] as const) {
    server.setRequestHandler(method, ANY, (params) =>
      inSdkTerms(async () => ({ ...(await tools.read(method, params, caller)) })),
    )
  }
}

/** Methods of an extension, of versions without a handshake alone. */
function addTasks(server: Server, tools: AgentTools, caller: Reader, toClient: () => TaskClient): void {
  const { tasks } = tools
  const answer = (work: () => Promise<unknown>) => {
    if (takesTasks(server))
      return inSdkTerms(async () => ({ ...((await tools.inRpcTerms(work(), caller.source)) as object) }))
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } })
  }
  server.setRequestHandler('tasks/get', ANY, (params) =>
    answer(() => tools.readFor(caller.answer, () => tasks.get(params, toClient()))),
  )
  server.setRequestHandler('tasks/update', ANY, (params, { mcpReq }) =>
    // The SDK takes them out of the parameters of every method.
    answer(() => tasks.update(params, readResponses(mcpReq.inputResponses), toClient())),
  )
  server.setRequestHandler('tasks/cancel', ANY, (params) => answer(() => tasks.cancel(params, toClient())))
}

/** Tells whether a client can follow tasks: it says so in each request. */
function takesTasks(server: Server): boolean {
  return versionOf(server) >= SDK_VERSION && server.getClientCapabilities()?.extensions?.[TASKS_EXTENSION] !== undefined
}

function versionOf(server: Server): string {
  return server.getNegotiatedProtocolVersion() ?? SDK_VERSION
}

/** Result that has a client ask its user; clients of earlier versions get a request over their connection. */
function askFor({ state, pending }: NonNullable<ToolResult['waiting']>): InputRequiredResult {
  const requests = pending.map((call) => [call.callId, inputRequired.elicit(toElicitation(call) as never)] as const)
  return inputRequired({ inputRequests: Object.fromEntries(requests), requestState: state })
}

function readResponses(responses: Readonly<Record<string, unknown>> = {}): Record<string, ElicitationResponse> {
  const read = Object.keys(responses).map((callId): [string, ElicitationResponse] => {
    // The SDK leaves out a content that is none, as if nothing had been said with the word.
    const isRead = inputResponse(responses, callId).kind === 'elicit'
    return [callId, isRead ? readResponse(responses[callId]) : { action: 'invalid' }]
  })
  return Object.fromEntries(read)
}

/** The types of the SDK want lists that can be changed; they are never changed. */
async function inSdkTerms<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof JsonRpcError ? new ProtocolError(error.code, error.message) : error
  }
}
