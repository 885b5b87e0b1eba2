import type { Message, ProviderMetadata, ToolCall } from './message.ts'
import type { ModelOptions } from './model-options.ts'
import { defineProtocol } from './protocol.ts'
import type { Run, Usage } from './run.ts'
import type { ToolDefinition } from './tool-definition.ts'

/**
 * One question to a model. The host fills in the options of the run's client (`run.requestOptions`) that the caller leaves open, except `toolChoice` and
 * `responseSchema`. What is left out then is the model's default. The config of a module takes precedence over the client.
 */
export interface LLMRequest extends ModelOptions {
  readonly messages: readonly Message[]
  readonly tools?: readonly ToolDefinition[]
}

/** Reason why a model's answer ended. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other'

/** A piece of a model's answer, in the order of arrival. */
export type LLMPart =
  | { readonly type: 'text'; readonly text: string; readonly providerMetadata?: ProviderMetadata }
  /**
   * `blockId` tells blocks of thinking apart; without it, adjacent parts are one block. A part may have no text and
   * bring only the vendor's metadata, which stands for the whole block; the latest counts.
   */
  | {
      readonly type: 'reasoning'
      readonly text: string
      readonly blockId?: string
      readonly providerMetadata?: ProviderMetadata
    }
  | { readonly type: 'tool_call'; readonly call: ToolCall }
  /** `model` is the vendor's name: traces count and price by it. */
  | { readonly type: 'usage'; readonly usage: Partial<Usage>; readonly model?: string }
  /**
   * `model` is the model that answered, if it differs from the one in the request: a dated version of it, for example. `stopSequence` is the
   * one of `stop` that ended the text, where the vendor says which.
   */
  | { readonly type: 'finish'; readonly reason: FinishReason; readonly model?: string; readonly stopSequence?: string }

/** Model behind an {@link LLM}, for traces and spans. */
export interface ModelInfo {
  /** As the vendor names it in requests: `gpt-4.1-mini`. */
  readonly name: string
  /** As OpenTelemetry names it (`gen_ai.provider.name`): `openai`, `aws.bedrock`. */
  readonly provider?: string
}

/**
 * A language model.
 *
 * @example
 * ```ts
 * export const parrot = defineModule({
 *   name: 'Parrot',
 *   provides: [LLM],
 *   create: () => ({
 *     async *generate({ messages }, run) {
 *       run.signal.throwIfAborted()
 *       yield { type: 'text', text: messages.at(-1)?.content ?? '' }
 *       yield { type: 'finish', reason: 'stop' }
 *     },
 *   }),
 * })
 * ```
 */
export interface LLM {
  /** Left out, spans name the model that the answer reports, if any. Modules that pass requests on to other models have none. */
  readonly modelInfo?: ModelInfo
  /**
   * Asks the model. Text and reasoning come in pieces, a tool call comes whole. The last part is `finish`; `usage`, where
   * the model reports it, comes before (the consumer passes it to `run.addUsage`).
   *
   * @remarks An orchestrator calls it once in each step, with the conversation so far. A router, a guard with `judge` and a summary call it once for each question of theirs.
   * @throws unknown the reason of the abort when `run.signal` aborts; `ModelRefused` or `ModelLimited` for what a client can act on; otherwise an error that names the
   * model and its message, never the key. A stream that breaks off throws, too: a part of an answer is never a whole one
   */
  generate(request: LLMRequest, run: Run): AsyncIterable<LLMPart>
  /**
   * Asks the vendor how many tokens a request has, without an answer. Optional: left out where a vendor cannot say.
   *
   * @remarks Adapters whose protocol counts tokens call it.
   * @throws unknown as `generate`
   */
  countTokens?(request: LLMRequest, run: Run): Promise<number>
}
export const LLM = defineProtocol<LLM>('LLM', ['generate'], ['countTokens'])
