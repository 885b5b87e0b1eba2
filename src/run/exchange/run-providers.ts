import { HostError } from '../../errors.ts'
import { JSON_VALUE } from '../../given.ts'
import type { ConversationHistory } from '../../protocols/conversation-history.ts'
import type { Attachment, Message } from '../../protocols/message.ts'
import type { CollectedResponse, ReasoningBlock, Response } from '../../protocols/response.ts'
import type { AgentRun } from '../agent-run.ts'
import type { RunEvent } from '../run-event.ts'
import { RUN_WAITS } from '../waiting/pending-call.ts'

/** `__response__`: the way from an agent to its client. */
export class RunResponse implements Response {
  readonly #run: AgentRun
  #isClosing = false
  #closed = false

  constructor(run: AgentRun) {
    this.#run = run
  }

  respondText(text: string): void | Promise<void> {
    this.#checkOpen()
    if (typeof text !== 'string') throw new TypeError(`respondText takes a string, not ${describeKind(text)}.`)
    if (text === '') return
    return this.#run.answer.say(text)
  }

  respondReasoning(text: string, block?: ReasoningBlock): void | Promise<void> {
    this.#checkOpen()
    if (typeof text !== 'string') throw new TypeError(`respondReasoning takes a string, not ${describeKind(text)}.`)
    // It may contain text that a guard holds back.
    if (this.#run.answer.holdsText || (text === '' && !block?.providerMetadata)) return
    return this.#run.answer.emit(toReasoning(text, block))
  }

  respondImage(image: Attachment): void | Promise<void> {
    return this.#attach(image)
  }

  respondAudio(audio: Attachment): void | Promise<void> {
    return this.#attach(audio)
  }

  respondFile(file: Attachment): void | Promise<void> {
    return this.#attach(file)
  }

  respondEvent(name: string, value: unknown): void | Promise<void> {
    this.#checkOpen()
    if (typeof name !== 'string' || name === '' || JSON_VALUE(value) !== undefined)
      throw new TypeError('respondEvent takes a name and JSON.')
    if (!this.#run.answer.holdsText) return this.#run.answer.emit({ type: 'custom', name, value })
  }

  getResponse(): CollectedResponse {
    const { text, attachments } = this.#run.answer
    return { text, attachments: [...attachments] }
  }

  /** The handler has ended. What modules still hold back may follow, also when the run waits. */
  beginClosing(): void {
    this.#isClosing = true
  }

  /** Closes the response: output after the end is an error of the module that sends it. */
  close(): void {
    this.#closed = true
  }

  #attach(attachment: Attachment): void | Promise<void> {
    this.#checkOpen()
    return this.#run.answer.attach(attachment)
  }

  #checkOpen(): void {
    const { abort, waiting } = this.#run
    abort.throwIfRequested()
    if (waiting.hasBegun && !this.#isClosing) throw RUN_WAITS
    if (this.#closed) {
      throw new HostError('AGENT_FAILED', `Agent '${this.#run.agentId}' responds after its run has ended.`, {
        suggestions: ['Await everything in the message handler before it returns.'],
      })
    }
  }
}

/** `__conversation__`: the messages of the request, the one that is being handled included. */
export class RunConversation implements ConversationHistory {
  #messages: readonly Message[]

  constructor(messages: readonly Message[]) {
    this.#messages = messages
  }

  getHistory(): Message[] {
    return [...this.#messages]
  }

  addMessage(message: Message): void {
    this.#messages = [...this.#messages, message]
  }

  clearHistory(): void {
    this.#messages = []
  }

  /** For the host, before a handler sees the conversation. */
  replaceMessages(messages: readonly Message[]): void {
    this.#messages = messages
  }
}

/** Code of agents may hand on more than a block has. */
function toReasoning(text: string, { blockId, providerMetadata }: ReasoningBlock = {}): RunEvent {
  return {
    type: 'reasoning',
    text,
    ...(blockId === undefined ? {} : { blockId }),
    ...(providerMetadata ? { providerMetadata } : {}),
  }
}

function describeKind(value: unknown): string {
  return value === null ? 'null' : typeof value
}
