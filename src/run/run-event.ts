import type { Attachment, ProviderMetadata, Reasoning, ToolCall } from '../protocols/message.ts'
import type { ReasoningBlock } from '../protocols/response.ts'
import type { Usage } from '../protocols/run.ts'
import type { ToolResult } from '../protocols/tool-provider.ts'
import type { PendingCall } from './waiting/pending-call.ts'

/**
 * Something that happened in a run, in the order in which it happened. Emitted once: by the `Response` that the run provides, and
 * at the facades of `LLM` and `ToolProvider`, with or without listeners.
 */
export type RunEvent =
  /** Piece of the answer. */
  | { readonly type: 'text'; readonly text: string }
  /** Piece of the thinking that the agent shows: of a block, whose last piece may be data of the vendor without a text. */
  | ({ readonly type: 'reasoning'; readonly text: string } & ReasoningBlock)
  | { readonly type: 'attachment'; readonly attachment: Attachment }
  /** One of the agent's own tools is called. */
  | {
      readonly type: 'tool_call'
      readonly call: ToolCall
      readonly moduleId: string
      /** Answer of the model that it stands in; left out for a call of an earlier run. */
      readonly answer?:
        | {
            /** Counts the answers of the run that have calls; those of one answer share it. */
            readonly index: number
            readonly reasoning?: readonly Reasoning[]
            readonly providerMetadata?: ProviderMetadata
          }
        | undefined
    }
  /** The call with that id has ended; `isError` where it failed. */
  | { readonly type: 'tool_result'; readonly callId: string; readonly result: ToolResult }
  /** The run needs something that this process cannot give, and will end waiting. */
  | { readonly type: 'pending'; readonly pending: PendingCall; readonly providerMetadata?: ProviderMetadata }
  | { readonly type: 'progress'; readonly message: string }
  /** Event of a module's own. `value` is JSON. */
  | { readonly type: 'custom'; readonly name: string; readonly value: unknown }
  | { readonly type: 'usage'; readonly usage: Partial<Usage> }
  /** Always the last. `reason` says why a completed run stopped before its answer was whole. */
  | {
      readonly type: 'end'
      readonly status: RunStatus
      readonly reason: string | undefined
    }

/** Answer of a model as its calls tell it: the message that they stand in. */
export type AnswerOfCall = NonNullable<Extract<RunEvent, { type: 'tool_call' }>['answer']>

/** End of a run. `waiting`: it needs a client's tool, a person's approval or an answer, and continues as a new run. */
export type RunStatus = 'completed' | 'waiting' | 'failed' | 'cancelled'

/** Takes the events of a run as they come. A promise holds the agent back until there is room for more. */
export type RunEventSink = (event: RunEvent) => void | Promise<void>
