import type { Attachment, ProviderMetadata } from './message.ts'
import { defineProtocol } from './protocol.ts'

/** Answer of an agent so far. */
export interface CollectedResponse {
  /** Every text in the order of the calls, joined with nothing in between. */
  readonly text: string
  readonly attachments: readonly Attachment[]
}

/** Block of thinking that a piece belongs to, as the part of the model's answer has it. */
export interface ReasoningBlock {
  readonly blockId?: string
  /** Stands for the whole block, and is given back to the vendor unchanged. */
  readonly providerMetadata?: ProviderMetadata
}

/**
 * The way back to the client. Every call streams at once.
 *
 * @example
 * ```ts
 * export const inItalics = defineModule({
 *   name: 'InItalics',
 *   provides: [Response],
 *   uses: { response: Response },
 *   create: ({ response }) => ({
 *     respondText: (text) => response.respondText(`*${text}*`),
 *     respondReasoning: (...piece) => response.respondReasoning(...piece),
 *     respondImage: (image) => response.respondImage(image),
 *     respondAudio: (audio) => response.respondAudio(audio),
 *     respondFile: (file) => response.respondFile(file),
 *     respondEvent: (...event) => response.respondEvent?.(...event),
 *     getResponse: () => response.getResponse(),
 *   }),
 * })
 * ```
 */
export interface Response {
  /**
   * Sends a piece of text. The promise is fulfilled when there is room for more: awaiting it keeps a fast
   * agent from filling the memory for a slow reader.
   *
   * @remarks Handlers and filters call it, as often as they like, until the handler has ended.
   * @throws TypeError for anything but a string; the reason of the abort when the run has to stop; HostError `AGENT_FAILED` after the run has ended
   */
  respondText(text: string): void | Promise<void>
  /**
   * Sends a piece of the thinking that led to the answer. Clients may show it or not; it is no part of the text. With `block`, clients
   * that keep conversations themselves can give the thinking back to its vendor; a piece may then have no text.
   */
  respondReasoning(text: string, block?: ReasoningBlock): void | Promise<void>
  /** Sends an image. Throws as `respondText` does, and so do the next two. */
  respondImage(image: Attachment): void | Promise<void>
  /** Sends audio. */
  respondAudio(audio: Attachment): void | Promise<void>
  /** Sends a file of any other kind. */
  respondFile(file: Attachment): void | Promise<void>
  /**
   * Sends an event of the module's own beside the answer, for adapters whose protocol has such: `value` is JSON. It is left out while a guard holds the text
   * back. The response that the host provides has it; a module between hands it on.
   *
   * @throws TypeError for anything but a name and JSON; otherwise as `respondText`
   */
  respondEvent?(name: string, value: unknown): void | Promise<void>
  /** Returns the answer of this run so far. */
  getResponse(): CollectedResponse | Promise<CollectedResponse>
}
export const Response = defineProtocol<Response>(
  'Response',
  ['respondText', 'respondReasoning', 'respondImage', 'respondAudio', 'respondFile', 'getResponse'],
  ['respondEvent'],
)
