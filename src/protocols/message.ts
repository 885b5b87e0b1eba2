/** A call of a tool that a model asked for. */
export interface ToolCall {
  /** Unique within the conversation; the tool's message answers it. */
  readonly id: string
  readonly name: string
  /** Already parsed. Not checked against the tool's schema. */
  readonly arguments: Readonly<Record<string, unknown>>
}

/** A picture, a sound or a file: either its bytes or where they are. */
export interface Attachment {
  /** IANA media type, `image/png`. */
  readonly mediaType: string
  readonly data: Uint8Array | URL
  readonly name?: string
}

/** One message of a conversation, oldest first wherever there are several. */
export type Message =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string; readonly attachments?: readonly Attachment[] }
  | { readonly role: 'assistant'; readonly content: string; readonly toolCalls?: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly content: string; readonly toolCallId: string }
