import { badRequest, HostError } from '../../errors.ts'
import type { AttachmentJson } from '../../run/attachment-json.ts'
import type { Approval, ApprovalDecision } from '../../wire/approval.ts'
import { readServerEvents, type ServerClient } from '../server/server-client.ts'
import type { Conversation, Reply, ReplyListener, ToolOutcome, WaitingCall } from './backend.ts'

interface ToolItem {
  readonly type: string
  readonly name: string
  readonly arguments: string
  readonly output?: string | null
  readonly error?: string | null
  /** Bytes of a picture, in base64. */
  readonly result?: string
}

interface StreamEvent {
  readonly type: string
  readonly delta?: string
  readonly name?: string
  readonly arguments?: string
  readonly item?: ToolItem
  readonly response?: { readonly id: string; readonly error?: { readonly message: string } | null }
}

/** Conversation through the responses adapter of a server, which keeps it. */
export class ResponsesConversation implements Conversation {
  readonly #client: ServerClient
  readonly #agent: string
  #lastId: string | undefined
  #waiting: readonly Approval[] = []
  /** Ids of approvals that are decided, where another decision did not fit. */
  readonly #decided = new Set<string>()
  /** Text of the user that the waiting turn began with. */
  #asked = ''
  said: Conversation['said'] = []

  constructor(client: ServerClient, agent: string) {
    this.#client = client
    this.#agent = agent
  }

  async ask(text: string, listener: ReplyListener): Promise<Reply> {
    this.#asked = text
    const body = JSON.stringify({
      model: this.#agent,
      input: text,
      stream: true,
      include: ['agent.tool_calls'],
      previous_response_id: this.#lastId ?? null,
    })
    return this.#read(
      await this.#client.request('/compat/responses', { method: 'POST', body, signal: listener.signal }),
      listener,
    )
  }

  async decide(decisions: readonly ApprovalDecision[], listener: ReplyListener): Promise<Reply> {
    let next: string | null = null
    for (const [index, { id }] of this.#waiting.entries()) {
      if (this.#decided.has(id)) continue
      const body = JSON.stringify(decisions[index])
      const decided = await this.#client.json<Approval>(`/compat/approvals/${id}`, { method: 'POST', body })
      this.#decided.add(id)
      next = decided.continued_by ?? next
    }
    if (next === null) throw badRequest('The run waits for something else, too.')
    return this.#read(
      await this.#client.request(`/compat/responses/${next}?stream=true`, { signal: listener.signal }),
      listener,
    )
  }

  async #read(response: Response, listener: ReplyListener): Promise<Reply> {
    const toolCalls: ToolOutcome[] = []
    const attachments: AttachmentJson[] = []
    let [text, id] = ['', '']
    for await (const event of readServerEvents<StreamEvent>(response)) {
      id = event.response?.id ?? id
      if (event.type === 'response.output_text.delta') {
        text += event.delta ?? ''
        listener.onText(event.delta ?? '')
      } else if (event.type === 'response.failed') {
        throw new HostError('AGENT_FAILED', event.response?.error?.message ?? 'Agent execution failed')
      } else if (event.item?.type === 'mcp_call') {
        if (event.type === 'response.output_item.done') endCall(event.item, listener, toolCalls)
      } else if (event.type === 'response.output_item.done' && event.item?.type === 'image_generation_call') {
        listener.onText('\n[attachment: image]\n')
        // The API does not say which kind of image it is.
        attachments.push({ mediaType: 'image/*', base64: event.item.result ?? '' })
      } else if (event.type === 'response.mcp_call_arguments.done') {
        listener.onCall(event.name ?? '', JSON.parse(event.arguments ?? '{}'))
      }
    }
    this.#waiting = await this.#findWaiting(id)
    if (this.#waiting.length === 0) {
      this.#lastId = id
      this.said = [...this.said, { role: 'user', content: this.#asked }, { role: 'assistant', content: text }]
    }
    return { text, runId: id, toolCalls, attachments, waitsFor: this.#waiting.map(toWaitingCall) }
  }

  /** A waiting response is completed like any other: its approvals show that it waits. */
  async #findWaiting(id: string): Promise<readonly Approval[]> {
    const { data } = await this.#client.json<{ data: Approval[] }>('/compat/approvals?limit=100&order=desc')
    return data.filter(({ response_id }) => response_id === id).reverse()
  }
}

function endCall(item: ToolItem, listener: ReplyListener, toolCalls: ToolOutcome[]): void {
  const { name, arguments: text, output, error } = item
  const args: unknown = JSON.parse(text)
  const outcome = { name, arguments: args, ...(error == null ? { result: output ?? '' } : { error }) }
  toolCalls.push(outcome)
  listener.onCallEnd(outcome)
}

function toWaitingCall({ kind, name, arguments: args, message, schema, ...asker }: Approval): WaitingCall {
  const { agent, asked_by: askedBy } = asker
  const child = askedBy.length > 0 ? { asker: { agent, askedBy } } : {}
  return { kind, name, arguments: args, message: message ?? undefined, schema: schema ?? undefined, ...child }
}
