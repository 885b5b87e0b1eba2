import { HostError } from '../errors.ts'
import type { ConversationHistory } from '../protocols/conversation-history.ts'
import type { Attachment, Message } from '../protocols/message.ts'
import type { CollectedResponse, Response } from '../protocols/response.ts'
import type { AgentRun } from './agent-run.ts'

/** A piece of an agent's answer, in the order in which it was given. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'attachment'; readonly attachment: Attachment }

/** Takes the parts of an answer as they come. A promise holds the agent back until there is room for more. */
export type PartSink = (part: Part) => void | Promise<void>

/** `__response__`: the way from an agent to whoever asked. */
export class RunResponse implements Response {
  readonly #run: AgentRun
  readonly #sink: PartSink | undefined
  #text = ''
  #attachments: Attachment[] | undefined
  #closed = false

  constructor(run: AgentRun, sink: PartSink | undefined) {
    this.#run = run
    this.#sink = sink
  }

  respondText(text: string): void | Promise<void> {
    this.#checkOpen()
    if (typeof text !== 'string') throw new TypeError(`respondText takes a string, not ${describeKind(text)}.`)
    if (text === '') return
    this.#text += text
    return this.#sink?.({ type: 'text', text })
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

  getResponse(): CollectedResponse {
    return { text: this.#text, attachments: [...(this.#attachments ?? [])] }
  }

  /** What comes after the end has nobody to go to: it is an error of the module that sends it. */
  close(): void {
    this.#closed = true
  }

  #attach(attachment: Attachment): void | Promise<void> {
    this.#checkOpen()
    this.#attachments ??= []
    this.#attachments.push(attachment)
    return this.#sink?.({ type: 'attachment', attachment })
  }

  #checkOpen(): void {
    this.#run.throwIfAborted()
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
}

function describeKind(value: unknown): string {
  return value === null ? 'null' : typeof value
}
