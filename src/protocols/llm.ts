import type { Message, ToolCall } from './message.ts'
import { defineProtocol } from './protocol.ts'
import type { Run, Usage } from './run.ts'
import type { ToolDefinition } from './tool-provider.ts'

/** One question to a model. What is left out is the model's (or the module's configured) default. */
export interface LLMRequest {
  readonly messages: readonly Message[]
  readonly tools?: readonly ToolDefinition[]
  /** `auto` when left out; `{ tool }` forces the tool of that name. */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string }
  readonly temperature?: number
  readonly maxOutputTokens?: number
  readonly stop?: readonly string[]
  /** A JSON Schema that the answer's text must be an instance of. */
  readonly responseSchema?: Readonly<Record<string, unknown>>
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other'

/** A piece of a model's answer, in the order of arrival. */
export type LLMPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'tool_call'; readonly call: ToolCall }
  | { readonly type: 'usage'; readonly usage: Partial<Usage> }
  | { readonly type: 'finish'; readonly reason: FinishReason }

/** A language model. */
export interface LLM {
  /**
   * Asks the model. Text and reasoning come in pieces, a tool call comes whole. The last part is `finish`; `usage`, where
   * the model tells it, comes before (whoever consumes the parts reports it with `run.addUsage`). Ends early, by throwing
   * the abort's reason, when `run.signal` aborts. Other failures throw what a reader can act on: which model, what it said.
   */
  generate(request: LLMRequest, run: Run): AsyncIterable<LLMPart>
}
export const LLM = defineProtocol<LLM>('LLM', ['generate'])
