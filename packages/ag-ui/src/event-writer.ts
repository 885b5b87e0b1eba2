import type { Attachment, PendingCall, RunEvent, ToolCall, ToolResult } from 'agent-host'
import type { AgUiEvent } from './ag-ui-event.ts'
import type { Interrupt } from './to-interrupt.ts'

export interface EventWriterOptions {
  /** Beginning of the ids of messages, unique for ever. */
  readonly prefix: string
  /** Calls of earlier runs, which the client has. */
  readonly known: ReadonlySet<string>
  /** Returns the name of the agent that a call of a module begins; undefined for any other. */
  readonly calledAgent: (moduleId: string, tool: string) => string | undefined
}

type ToolCallEvent = Extract<RunEvent, { type: 'tool_call' }>

/** Translates the events of a run. What a message or call opens is closed before something else begins. */
export class EventWriter {
  readonly #options: EventWriterOptions
  /** Calls that the client has. */
  readonly #calls: Set<string>
  /** Calls that another agent answers. */
  readonly #subagents = new Set<string>()
  #count = 0
  /** Message of the assistant that calls belong to. */
  #message: string | undefined
  /** Answer of the model that it is. */
  #answer: number | undefined
  #openText: string | undefined
  #openReasoning: string | undefined
  #block: string | undefined

  constructor(options: EventWriterOptions) {
    this.#options = options
    this.#calls = new Set(options.known)
  }

  write(event: RunEvent): AgUiEvent[] {
    switch (event.type) {
      case 'text':
        return this.#text(event.text)
      case 'reasoning':
        return event.text === '' ? [] : this.#reasoning(event.text, event.blockId)
      case 'tool_call':
        return [...this.#close(), ...this.#toolCall(event)]
      case 'tool_result':
        return [...this.#close(), ...this.#result(event.callId, event.result)]
      case 'pending':
        return [...this.#close(), ...this.#pending(event.pending)]
      case 'attachment':
        return [
          { type: 'CUSTOM', name: 'attachment', value: { ...toPart(event.attachment), name: event.attachment.name } },
        ]
      case 'custom':
        return [{ type: 'CUSTOM', name: event.name, value: event.value }]
      case 'progress':
        return [this.#progress(event.message)]
      default:
        return []
    }
  }

  /**
   * Closes what is open: the run ends.
   *
   * @param interrupts what it waits for, where it waits
   */
  end(status: 'completed' | 'waiting' | 'cancelled', interrupts: readonly Interrupt[] = []): AgUiEvent[] {
    const subagents = [...this.#subagents].map((subagentRunId): AgUiEvent => {
      if (status === 'cancelled') return { type: 'SUBAGENT_ERROR', subagentRunId, message: 'The run was cancelled.' }
      const own = interrupts.filter((interrupt) => interrupt.subagentRunId === subagentRunId)
      const outcome = { type: 'suspended', interruptIds: own.map(({ id }) => id) }
      return { type: 'SUBAGENT_FINISHED', subagentRunId, ...(status === 'waiting' ? { outcome } : {}) }
    })
    return [...this.#close(), ...subagents]
  }

  #text(text: string): AgUiEvent[] {
    // A message begins without the empty line that parts it from the one before.
    const delta = this.#openText === undefined ? text.replace(/^\n+/, '') : text
    if (delta === '') return []
    const opened: AgUiEvent[] = []
    if (this.#openText === undefined) {
      opened.push(...this.#close())
      this.#openText = this.#message = this.#nextId()
      this.#answer = undefined
      opened.push({ type: 'TEXT_MESSAGE_START', messageId: this.#openText, role: 'assistant' })
    }
    return [...opened, { type: 'TEXT_MESSAGE_CONTENT', messageId: this.#openText, delta }]
  }

  #reasoning(delta: string, block: string | undefined): AgUiEvent[] {
    const opened: AgUiEvent[] = []
    if (this.#openReasoning === undefined || block !== this.#block) {
      opened.push(...this.#close())
      const messageId = this.#nextId()
      this.#openReasoning = messageId
      this.#block = block
      opened.push({ type: 'REASONING_START', messageId })
      opened.push({ type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' })
    }
    return [...opened, { type: 'REASONING_MESSAGE_CONTENT', messageId: this.#openReasoning, delta }]
  }

  #toolCall({ call, moduleId, answer }: ToolCallEvent): AgUiEvent[] {
    if (this.#answer !== undefined && answer?.index !== this.#answer) this.#message = undefined
    this.#answer = answer?.index
    const name = this.#options.calledAgent(moduleId, call.name)
    if (name !== undefined) this.#subagents.add(call.id)
    const started = { type: 'SUBAGENT_STARTED', subagentRunId: call.id, name, parentToolCallId: call.id }
    return [...this.#say(call), ...(name === undefined ? [] : [started])]
  }

  /** Says a call, once: the run that goes on after an answer calls it again. */
  #say({ id, name, arguments: args }: Pick<ToolCall, 'id' | 'name' | 'arguments'>, owner?: string): AgUiEvent[] {
    if (this.#calls.has(id)) return []
    this.#calls.add(id)
    const of = owner === undefined ? {} : { subagentRunId: owner }
    if (owner === undefined) this.#message ??= this.#nextId()
    const parent = owner === undefined ? { parentMessageId: this.#message } : {}
    return [
      { type: 'TOOL_CALL_START', toolCallId: id, toolCallName: name, ...parent, ...of },
      { type: 'TOOL_CALL_ARGS', toolCallId: id, delta: JSON.stringify(args), ...of },
      { type: 'TOOL_CALL_END', toolCallId: id, ...of },
    ]
  }

  #result(toolCallId: string, { text, attachments = [], isError }: ToolResult): AgUiEvent[] {
    const ended = this.#subagents.delete(toolCallId)
    const failed = { type: 'SUBAGENT_ERROR', subagentRunId: toolCallId, message: text }
    const finished = { type: 'SUBAGENT_FINISHED', subagentRunId: toolCallId }
    const parts = attachments.map(toPart)
    const content = parts.length === 0 ? text : [{ type: 'text', text }, ...parts]
    const marked = isError ? { metadata: { isError } } : {}
    return [
      ...(ended ? [isError ? failed : finished] : []),
      { type: 'TOOL_CALL_RESULT', messageId: this.#nextId(), toolCallId, content, role: 'tool', ...marked },
    ]
  }

  #pending({ callId, within, kind, name, client, arguments: args }: PendingCall): AgUiEvent[] {
    // What a called agent asks a person stands for the call that began it.
    if (within !== undefined && kind !== 'client_tool') return []
    const owner = within !== undefined && this.#subagents.has(within) ? within : undefined
    return this.#say({ id: callId, name: client?.name ?? name, arguments: args }, owner)
  }

  #progress(message: string): AgUiEvent {
    const { prefix } = this.#options
    return {
      type: 'ACTIVITY_SNAPSHOT',
      messageId: `${prefix}-progress`,
      activityType: 'PROGRESS',
      content: { message },
    }
  }

  #close(): AgUiEvent[] {
    const [text, reasoning] = [this.#openText, this.#openReasoning]
    this.#openText = this.#openReasoning = undefined
    return [
      ...(text === undefined ? [] : [{ type: 'TEXT_MESSAGE_END', messageId: text }]),
      ...(reasoning === undefined
        ? []
        : [
            { type: 'REASONING_MESSAGE_END', messageId: reasoning },
            { type: 'REASONING_END', messageId: reasoning },
          ]),
    ]
  }

  #nextId(): string {
    return `${this.#options.prefix}-${++this.#count}`
  }
}

/** An attachment as a content part. */
function toPart({ mediaType, data }: Attachment): { readonly type: string; readonly source: object } {
  const [kind = ''] = mediaType.split('/')
  const type = ['image', 'audio', 'video'].includes(kind) ? kind : 'document'
  const isKnown = !mediaType.includes('*')
  if (data instanceof URL)
    return { type, source: { type: 'url', value: data.href, ...(isKnown && { mimeType: mediaType }) } }
  return { type, source: { type: 'data', value: Buffer.from(data).toString('base64'), mimeType: mediaType } }
}
