import type { Attachment } from './message.ts'
import { defineProtocol } from './protocol.ts'

/** Answer of an agent so far. */
export interface CollectedResponse {
  /** Every text in the order of the calls, joined with nothing in between. */
  readonly text: string
  readonly attachments: readonly Attachment[]
}

/** The way back to the client. Every call streams at once. */
export interface Response {
  /**
   * Sends a piece of text. The promise is fulfilled when there is room for more: awaiting it keeps a fast
   * agent from filling the memory for a slow reader.
   */
  respondText(text: string): void | Promise<void>
  /** Sends a piece of the thinking that led to the answer. Clients may show it or not; it is no part of the text. */
  respondReasoning(text: string): void | Promise<void>
  respondImage(image: Attachment): void | Promise<void>
  respondAudio(audio: Attachment): void | Promise<void>
  respondFile(file: Attachment): void | Promise<void>
  /** Returns the answer of this run so far. */
  getResponse(): CollectedResponse | Promise<CollectedResponse>
}
export const Response = defineProtocol<Response>('Response', [
  'respondText',
  'respondReasoning',
  'respondImage',
  'respondAudio',
  'respondFile',
  'getResponse',
])
