/** Facts that their vendor alone reads, by vendor: signed thinking, encrypted reasoning, ids. JSON values. */
export type ProviderMetadata = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Call of a tool that a model asked for. */
export interface ToolCall {
  /** Unique within the conversation; the tool's message answers it. The model's own, unless that is empty or was used before. */
  readonly id: string
  /** The model's own id of a call that has another one here. Requests to models have it in the place of `id`. Set by the host alone. */
  readonly vendorId?: string
  readonly name: string
  /** Already parsed. Not checked against the tool's schema. */
  readonly arguments: Readonly<Record<string, unknown>>
  /** Text that the model wrote where its arguments are no JSON object: nothing is executed, and the model reads why. */
  readonly unreadable?: string
  /** To be given back to the vendor unchanged. */
  readonly providerMetadata?: ProviderMetadata
  /** Marks a text that a guard holds for a person: no model sees such a call. Set by the host alone. */
  readonly held?: { readonly by: string; readonly reason: string; readonly reply: string }
}

/** Block of a model's thinking. `text` is empty where the vendor gives nothing but encrypted data. */
export interface Reasoning {
  readonly text: string
  /** To be given back to the vendor unchanged. */
  readonly providerMetadata?: ProviderMetadata
}

/** Image, audio or file: either its bytes or its address. */
export interface Attachment {
  /** IANA media type, `image/png`. */
  readonly mediaType: string
  readonly data: Uint8Array | URL
  readonly name?: string
  /** Detail that a model is to read an image in, as its client asks: `low`, `high`, `auto`. */
  readonly detail?: string
}

/** Decision of a person about the call of a tool. */
export interface RecordedDecision {
  /** Name of the tool. */
  readonly name: string
  readonly decision: 'approve' | 'reject' | 'edit'
  /** Name of the key, or of the place, that decided. */
  readonly by: string
  /** Unix seconds. */
  readonly at?: number
}

/** One message of a conversation, oldest first wherever there are several. */
export type Message =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string; readonly attachments?: readonly Attachment[] }
  | {
      readonly role: 'assistant'
      readonly content: string
      /** Part of the content in the answer, where the client says it: before calls of tools, or the answer itself. */
      readonly phase?: 'commentary' | 'final_answer'
      /** Precedes the content. */
      readonly reasoning?: readonly Reasoning[]
      readonly toolCalls?: readonly ToolCall[]
      readonly attachments?: readonly Attachment[]
      readonly providerMetadata?: ProviderMetadata
    }
  | {
      readonly role: 'tool'
      readonly content: string
      readonly toolCallId: string
      readonly attachments?: readonly Attachment[]
      /** True when the content reports a failure. */
      readonly isError?: boolean
      /** Decisions of people about the call, and about calls that its tool made. */
      readonly decisions?: readonly RecordedDecision[]
    }

/** Recognizes a message of the user. */
export function isUser({ role }: { readonly role?: string | null | undefined }): boolean {
  return role === 'user'
}
