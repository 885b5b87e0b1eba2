import { request as httpRequest } from 'node:http'
import type { DurableRequest, GivenAnswer, OpenedProject, PendingAnswer } from 'agent-host'
import { ApprovalsClient } from '../../src/commands/approvals/approvals-client.ts'
import { openSocket } from './response-socket.ts'
import type { Json } from './responses.ts'

/** A server, or a program with a project, that is decided at. */
export interface Place {
  readonly url: () => string
  readonly project: () => OpenedProject
}

/** A call that waits, and the decision about it. */
export interface Waiting {
  /** Id of the run, or of the row, that waits. */
  readonly id: string
  /** Id of the approval; undefined for a way that has none. */
  readonly approvalId?: string
  /**
   * Sends the decision: the same one each time.
   *
   * @param signal disconnects the client
   * @returns undefined when it was taken, otherwise the reason of its refusal
   */
  decide(signal?: AbortSignal): Promise<string | undefined>
}

/** Way of deciding: `wait` has the agent call its tool, for this receiver of the payment. */
export interface Way {
  readonly name: string
  /** The decision is committed with a job: its client is not needed any more. */
  readonly isQueued?: boolean
  readonly wait: (place: Place, to: string) => Promise<Waiting>
}

export const AGENT = 'till'

export async function post(url: string, body: object, { signal, headers = {} }: Sent = {}): Promise<Reply> {
  const text = JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers },
      ...(signal ? { signal } : {}),
    })
    sent.on('error', reject)
    sent.on('response', (reply) => {
      let read = ''
      reply.setEncoding('utf8')
      reply.on('data', (chunk) => {
        read += chunk
      })
      reply.on('error', reject)
      reply.on('end', () => resolve({ status: reply.statusCode ?? 0, text: read }))
    })
    sent.end(text)
  })
}

interface Sent {
  readonly signal?: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string>>
}

interface Reply {
  readonly status: number
  readonly text: string
}

function refusalOf({ status, text }: Reply): string | undefined {
  return status === 200 ? undefined : `${status} ${text}`
}

/** Asks by `POST /responses`, and has a decision about what waits then. */
function byResponses(
  name: string,
  decide: (place: Place, body: object, signal?: AbortSignal) => Promise<string | undefined>,
  { isNamed = false, isQueued = false } = {},
): Way {
  return {
    name,
    isQueued,
    async wait(place, to) {
      const conversation = isNamed ? JSON.parse((await post(`${place.url()}/v1/conversations`, {})).text).id : undefined
      const linked = conversation === undefined ? {} : { conversation }
      const { id, approvalId } = await ask(place, to, linked)
      const item = { type: 'mcp_approval_response', approval_request_id: approvalId, approve: true }
      const body = { model: AGENT, input: [item], ...(isNamed ? linked : { previous_response_id: id }) }
      return { id, approvalId, decide: (signal) => decide(place, body, signal) }
    },
  }
}

async function ask(place: Place, to: string, more: object = {}): Promise<{ id: string; approvalId: string }> {
  const { text } = await post(`${place.url()}/compat/responses`, { model: AGENT, input: to, ...more })
  const { id, output } = JSON.parse(text) as Json
  if (!output) throw new Error(text)
  return { id, approvalId: output.find(({ type }: Json) => type === 'mcp_approval_request').id }
}

const create = async ({ url }: Place, body: object, signal?: AbortSignal, headers = {}) =>
  refusalOf(await post(`${url()}/compat/responses`, body, { signal, headers }))

const inbox = (
  name: string,
  decide: (place: Place, id: string, signal?: AbortSignal) => Promise<string | undefined>,
): Way => ({
  name,
  isQueued: true,
  async wait(place, to) {
    const { id, approvalId } = await ask(place, to)
    return { id, approvalId, decide: (signal) => decide(place, approvalId, signal) }
  },
})

/** Ways of deciding on responses. */
export const RESPONSES_WAYS: readonly Way[] = [
  inbox('the inbox', async ({ url }, id, signal) =>
    refusalOf(await post(`${url()}/compat/approvals/${id}`, { decision: 'approve' }, { signal })),
  ),
  inbox('the command line', ({ url }, id) =>
    new ApprovalsClient({ url: url() }).decide(id, { decision: 'approve' }).then(
      () => undefined,
      ({ message }: Error) => message,
    ),
  ),
  byResponses('responses, JSON', create),
  byResponses('responses, JSON with an Idempotency-Key', (place, body, signal) =>
    create(place, body, signal, { 'idempotency-key': crypto.randomUUID() }),
  ),
  byResponses('responses, JSON in a conversation', create, { isNamed: true }),
  byResponses('responses, JSON that is not stored', (place, body, signal) =>
    create(place, { ...body, store: false }, signal),
  ),
  byResponses('responses, streamed', (place, body, signal) => create(place, { ...body, stream: true }, signal)),
  byResponses('responses, background', (place, body, signal) => create(place, { ...body, background: true }, signal), {
    isQueued: true,
  }),
  byResponses('responses, WebSocket', async ({ url }, body, signal) => {
    const client = await openSocket(url())
    signal?.addEventListener('abort', () => client.socket.terminate())
    const last = (await client.ask(body)).at(-1)
    client.socket.close()
    return last?.type === 'response.completed' ? undefined : JSON.stringify(last ?? 'closed')
  }),
]

const chat = (name: string, more: object): Way => ({
  name,
  isQueued: true,
  async wait({ url }, to) {
    const asked = { model: AGENT, messages: [{ role: 'user', content: to }], metadata: { approvals: 'tool' } }
    const path = '/compat/chat/completions'
    const { message } = JSON.parse((await post(url() + path, asked)).text).choices[0]
    const [{ id }] = message.tool_calls
    const answer = { role: 'tool', tool_call_id: id, content: '{"decision":"approve"}' }
    const body = { ...asked, messages: [...asked.messages, message, answer], ...more }
    const decide = async (signal?: AbortSignal) => {
      const reply = await post(url() + path, body, { signal })
      return reply.text.includes('"error"') ? reply.text : refusalOf(reply)
    }
    return { id: `resp_${id.slice('mcpr_'.length, -4)}`, approvalId: id, decide }
  },
})

const CHAT_WAYS: readonly Way[] = [chat('chat, JSON', {}), chat('chat, streamed', { stream: true })]

const SDK_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}

/** MCP without a handshake: the client sends its state again. */
const MCP_WAY: Way = {
  name: 'MCP 2026-07-28',
  async wait({ url }, to) {
    const call = async (more: object, signal?: AbortSignal): Promise<Json> => {
      const params = { name: AGENT, arguments: { message: to }, _meta: SDK_META, ...more }
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
      const headers = {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': AGENT,
      }
      const { text } = await post(`${url()}/mcp`, body, { signal, headers })
      return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
    }
    const { requestState, inputRequests } = (await call({})).result
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests).map((id) => [id, { action: 'accept', content: {} }]),
    )
    return {
      id: requestState,
      async decide(signal) {
        const { result, error } = await call({ requestState, inputResponses }, signal)
        return error || result.isError ? JSON.stringify(error ?? result) : undefined
      },
    }
  },
}

/** MCP with a handshake: the question comes within the call, which a client repeats as a whole. */
const MCP_HANDSHAKE_WAY: Way = {
  name: 'MCP 2025-11-25',
  async wait({ url }, to) {
    const decide = async (signal?: AbortSignal): Promise<string | undefined> => {
      const session = `ask-${crypto.randomUUID()}`
      const headers = {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': '2025-11-25',
        'mcp-session-id': session,
      }
      const send = (body: object, signal?: AbortSignal) =>
        fetch(`${url()}/mcp`, {
          method: 'POST',
          headers,
          body: JSON.stringify({ jsonrpc: '2.0', ...body }),
          ...(signal ? { signal } : {}),
        })
      const params = { name: AGENT, arguments: { message: to } }
      const reply = await send({ id: 1, method: 'tools/call', params }, signal)
      let read = ''
      for await (const chunk of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        read += chunk
        const [, question] = /^data: (.*elicitation\/create.*)$/m.exec(read) ?? []
        if (question !== undefined) {
          read = ''
          await MCP_ANSWERING.before?.()
          await send({ id: JSON.parse(question).id, result: { action: 'accept', content: {} } })
        }
      }
      const { error, result } = JSON.parse(/^data: (.*)$/m.exec(read)?.[1] ?? read)
      return error || result.isError ? JSON.stringify(error ?? result) : undefined
    }
    return { id: '', decide }
  },
}

/** What happens between a question and its answer, within one call. */
export const MCP_ANSWERING: { before?: (() => Promise<void>) | undefined } = {}

const MCP_WAYS: readonly Way[] = [MCP_WAY, MCP_HANDSHAKE_WAY]

const PROJECT_WAY: Way = {
  name: 'project.resume',
  async wait({ project }, to) {
    const { runId, pending } = await project().run(AGENT, to)
    const answers: PendingAnswer[] = [{ callId: pending[0]?.callId ?? '', kind: 'approval', decision: 'approve' }]
    return {
      id: runId,
      decide: (signal) =>
        project()
          .resume(runId, answers, signal ? { signal } : {})
          .then(
            () => undefined,
            ({ message }: Error) => message,
          ),
    }
  },
}

const SIGN = { name: 'sign', description: 'Signs.', parameters: { type: 'object' } } as const

/** Durable runs of adapters and programs. */
function byRuns(name: string, clientTools: DurableRequest['clientTools'], answer: GivenAnswer): Way {
  return {
    name,
    isQueued: true,
    async wait({ project }, to) {
      const runs = () => project().runs.of('')
      const { id } = await runs().start({ agent: AGENT, messages: [{ role: 'user', content: to }], clientTools })
      const { open } = await runs().outcome(id)
      const decide = () =>
        runs()
          .answer(new Map(open.map((call) => [call.id, answer])), 'somebody')
          .then(
            () => undefined,
            ({ message }: Error) => message,
          )
      return { id, ...(clientTools ? {} : { approvalId: open[0]?.id ?? '' }), decide }
    },
  }
}

const RUNS_WAYS: readonly Way[] = [
  byRuns('runs.answer', undefined, { kind: 'approval', decision: 'approve' }),
  byRuns("runs.answer, the client's tool", [SIGN], { kind: 'client_tool', result: { text: 'signed' } }),
]

/** All of them. Claims of workers are part of those that are queued. */
export const WAYS: readonly Way[] = [...RESPONSES_WAYS, ...CHAT_WAYS, ...MCP_WAYS, PROJECT_WAY, ...RUNS_WAYS]
