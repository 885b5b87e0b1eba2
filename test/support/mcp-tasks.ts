import { Client, type ClientCapabilities, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  type ApplicationInputRequest,
  createTaskSessionFromClient,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client'

/** Response of the user to a question; undefined leaves it open. */
export type OnQuestion = (
  params: object,
) => { action: 'accept' | 'decline' | 'cancel'; content?: Readonly<Record<string, unknown>> } | undefined

/** Client of MCP 2026-07-28 that follows tasks: the official one, with its extension. */
export interface TaskSession extends AsyncDisposable {
  readonly tasks: TaskEnabledSession
  /** Sends one request, and returns its result or error as it comes. */
  readonly send: (method: string, params: object, signal?: AbortSignal) => Promise<Reply>
}

interface Reply {
  readonly result?: { readonly [name: string]: unknown }
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

const INFO = { name: 'test', version: '1.0.0' }
const VERSION = '2026-07-28'

export interface TaskClientOptions {
  /** Without it the user cannot be asked. */
  readonly onQuestion?: OnQuestion
  readonly headers?: Readonly<Record<string, string>>
  /** Default: true. */
  readonly takesTasks?: boolean
}

export async function openTaskSession(url: URL, options: TaskClientOptions = {}): Promise<TaskSession> {
  const { onQuestion, headers = {}, takesTasks = true } = options
  const capabilities: ClientCapabilities = onQuestion ? { elicitation: { form: {} } } : {}
  const client = new Client(INFO, { capabilities, versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
  const post = (request: object, signal?: AbortSignal) => send(url, request, headers, signal)
  const framing = { protocolVersion: VERSION, clientInfo: INFO, clientCapabilities: { ...capabilities } as never }
  const tasks = createTaskSessionFromClient(client, {
    endpointId: 'test',
    v2RequestFraming: framing,
    rawDispatch: async (request) => {
      const { result, error } = await post(request as object)
      return error ? { kind: 'error', error: error as never } : { kind: 'result', result: result as never }
    },
    onInputRequest: (request) => answer(request, onQuestion) as never,
  })
  const extensions = takesTasks ? { extensions: { 'io.modelcontextprotocol/tasks': {} } } : {}
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientInfo': INFO,
    'io.modelcontextprotocol/clientCapabilities': { ...capabilities, ...extensions },
  }
  const close = async () => {
    await tasks.close()
    await client.close()
  }
  return {
    tasks,
    send: (method, params, signal) => post({ method, params: { ...params, _meta } }, signal),
    [Symbol.asyncDispose]: close,
  }
}

async function answer(request: ApplicationInputRequest, onQuestion: OnQuestion | undefined) {
  const response = onQuestion?.(request.params ?? {})
  if (response) return response
  throw new Error('The user has not answered.')
}

let ids = 0

async function send(
  url: URL,
  request: object,
  headers: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<Reply> {
  const { method, params } = request as { method: string; params: { name?: string; taskId?: unknown } }
  const reply = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      'mcp-name': params.name ?? (typeof params.taskId === 'string' ? params.taskId : ''),
      ...headers,
    },
    ...(signal ? { signal } : {}),
    body: JSON.stringify({ jsonrpc: '2.0', id: ++ids, ...request }),
  })
  const text = await reply.text()
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
}
