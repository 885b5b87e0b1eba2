import { Value } from 'typebox/value'
import { sizeOf } from '../../../../durable/conversations/truncate.ts'
import type { Fields } from '../../../../json.ts'
import { isUser, type Message, type ToolCall } from '../../../../protocols/message.ts'
import type { MessageJson } from '../../../../run/attachment-json.ts'
import { callsOf } from '../../../../wire/paired-calls.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'
import { ContextManagement, type CreateRequest } from '../routes/schema.ts'

/** Text of a compaction item before it is sealed. JSON. */
export interface CompactionContent {
  readonly summary: string
  /** Messages that stay as they are: what stands before the item is no longer sent. Left out where it stands beside them. */
  readonly kept?: readonly MessageJson[]
  /** Ids of the kept calls of tools that take free text. */
  readonly customCalls?: readonly string[]
}

const HEADING = 'Summary of the conversation so far:'
/** Bytes of a token, on average. */
const TOKEN_BYTES = 4

/** Returns the thresholds that a request sets; undefined where they cannot be read. */
export function readThresholds({ context_management: raw }: Fields): readonly number[] | undefined {
  if (raw == null) return []
  return Value.Check(ContextManagement, raw) ? raw.flatMap(({ compact_threshold: tokens }) => tokens ?? []) : undefined
}

/** Returns the tokens above which a conversation is to be shortened; undefined where the request sets none. */
export function thresholdOf(body: CreateRequest): number | undefined {
  const thresholds = readThresholds(body) ?? []
  return thresholds.length === 0 ? undefined : Math.min(...thresholds)
}

/**
 * Tells whether a request asks for a summary in place of an answer.
 *
 * @throws HostError `REQUEST_INVALID` in an extended dialect, for an item that asks for it before others
 */
export function isTriggered({ input }: CreateRequest, isExtended: boolean): boolean {
  if (typeof input === 'string') return false
  const index = input.findIndex(({ type }) => type === 'compaction_trigger')
  if (index === -1 || index === input.length - 1) return index !== -1
  if (isExtended) throw invalidField(`input[${index}]`, 'must be the last item.')
  return false
}

/** Number of tokens of a conversation, roughly. */
export function estimateTokens(messages: readonly Message[]): number {
  const sizes = messages.map((message) => {
    const sizeOfCall = ({ arguments: args }: ToolCall) => Buffer.byteLength(JSON.stringify(args))
    return callsOf(message).reduce((sum, call) => sum + sizeOfCall(call), sizeOf(message))
  })
  return Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / TOKEN_BYTES)
}

/**
 * Returns the messages that stay beside a summary of all: those of the system, the last question and what came after it. Where these are
 * more than `maxTokens` still, of what came after the question only the last step stays: its calls and their results.
 */
export function keepLatest(messages: readonly Message[], maxTokens: number): readonly Message[] {
  const question = messages.findLastIndex(isUser)
  const system = messages.slice(0, Math.max(question, 0)).filter(isInstruction)
  const latest = messages.slice(Math.max(question, 0))
  if (estimateTokens(latest) <= maxTokens) return [...system, ...latest]
  return [...system, ...latest.slice(0, 1), ...lastStepOf(latest.slice(1))]
}

/**
 * Returns the messages that stay beside a summary of all: those of the system, and of a turn that has no answer yet the question and the
 * last step. A client that shortens its conversation within a turn goes on from the summary alone.
 */
export function keepUnanswered(messages: readonly Message[], hasOpen: boolean): readonly Message[] {
  const system = messages.filter(isInstruction)
  if (!hasOpen && messages.at(-1)?.role === 'assistant') return system
  const question = messages.findLastIndex(isUser)
  if (question === -1) return system
  const step = lastStepOf(messages.slice(question + 1)).filter(({ role }) => role !== 'system')
  return [...system, ...messages.slice(question, question + 1), ...step]
}

/** Messages in place of a conversation: what is kept, with the summary behind the messages of the system. */
export function toCompacted(summary: string, kept: readonly Message[]): Message[] {
  const first = kept.findIndex(({ role }) => role !== 'system')
  const system = first === -1 ? kept.length : first
  return [...kept.slice(0, system), toSummaryMessage(summary), ...kept.slice(system)]
}

export function toSummaryMessage(summary: string): Message {
  return { role: 'system', content: `${HEADING}\n${summary}` }
}

/** Message of the system that is no summary: a new summary takes over an earlier one. */
function isInstruction({ role, content }: Message): boolean {
  return role === 'system' && !content.startsWith(HEADING)
}

function lastStepOf(messages: readonly Message[]): readonly Message[] {
  const step = messages.findLastIndex((message) => callsOf(message).length > 0)
  return step === -1 ? [] : messages.slice(step)
}
