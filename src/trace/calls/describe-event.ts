import { type Fields, fieldsOf, isObject } from '../../json.ts'
import { shorten } from '../../shorten.ts'
import { cleanText } from '../../wire/clean-text.ts'
import type { TracedEvent } from '../files/traced-event.ts'

const CALL_KINDS = ['agent', 'model', 'tool', 'memory', 'response', 'module'] as const
/** Kind of a call, for readers. */
export type CallKind = (typeof CALL_KINDS)[number]

/** Tokens of one model. Fields are named as GraphQL names them. */
export interface ModelUsage {
  /** As the vendor calls the model; null where the module does not say. */
  readonly model: string | null
  readonly input_tokens: number
  readonly output_tokens: number
  /** Part of the tokens above. */
  readonly cached_input_tokens: number
  readonly reasoning_tokens: number
}

const KINDS: Readonly<Record<string, CallKind>> = {
  LLM: 'model',
  ToolProvider: 'tool',
  Response: 'response',
  Memory: 'memory',
  Embedder: 'memory',
  VectorIndex: 'memory',
  Chunker: 'memory',
  ConversationHistory: 'memory',
}
const MAX_LABEL = 48
const MAX_ARGUMENT = 24
const MAX_ERROR = 1000

/** Classifies a call by its protocol. */
export function kindOf({ agent_id, caller_id, parent_call_id, protocol }: TracedEvent): CallKind {
  const isOfAgent = parent_call_id === null && caller_id === `agent:${agent_id}`
  return KINDS[protocol ?? ''] ?? (isOfAgent ? 'agent' : 'module')
}

/** Name of a call as a person says it, `lookupOrder(42)` for a tool; null where the method says it all. */
export function labelOf({ method_name, arguments: given }: TracedEvent): string | null {
  const [first, second] = given?.args ?? []
  if (typeof first !== 'string') return null
  if (method_name === 'executeTool') return shortLine(cleanText(`${first}(${listValues(second)})`), MAX_LABEL)
  return method_name === 'search' ? shortLine(cleanText(`search(${JSON.stringify(first)})`), MAX_LABEL) : null
}

/** Tells a call that was broken off, since its run was stopped, from one that failed. */
export function isAborted(exception: string | null): boolean {
  return /^(Caused by: )?HostError: The run of agent '.*' was aborted\./m.test(exception ?? '')
}

/** Tells the result of a tool that reports an error instead of throwing it, as those of MCP servers do. */
export function isFailedResult(result: unknown): boolean {
  return fieldsOf(result).isError === true && !isRejectedResult(result)
}

/** Tells the result of a tool that was not executed, since a person or a policy did not allow it. */
export function isRejectedResult(result: unknown): boolean {
  return fieldsOf(result).isRejected === true
}

/** Verdict of a guard on a text, `redact`, `block` or `ask`; null for one that let it pass, and for any other call. */
export function verdictOf({ method_name, result }: TracedEvent): string | null {
  if (method_name !== 'checkOutput' && method_name !== 'checkInput') return null
  const verdicts = (Array.isArray(result) ? result : [result]).map((verdict) => fieldsOf(verdict).action)
  const found = verdicts.findLast((action) => typeof action === 'string' && action !== 'pass')
  return typeof found === 'string' ? found : null
}

/** Messages of an exception and of its causes, one a line, without their stacks; null without an exception. */
export function errorOf(exception: string | null): string | null {
  if (exception === null) return null
  const parts = exception.split('\nCaused by: ').map((part) => part.split('\n', 1)[0] ?? '')
  return parts.join('\n').slice(0, MAX_ERROR)
}

/** Tokens of a model's answer; null where it counts none. */
export function usageOf(result: unknown): ModelUsage | null {
  if (!Array.isArray(result)) return null
  const parts = result.filter((part) => part?.type === 'usage')
  if (parts.length === 0) return null
  const sum = (name: string) => parts.reduce((total, { usage }) => total + countOf(usage?.[name]), 0)
  const model: unknown = parts.find((part) => typeof part.model === 'string')?.model
  return {
    model: typeof model === 'string' ? model : null,
    input_tokens: sum('inputTokens'),
    output_tokens: sum('outputTokens'),
    cached_input_tokens: sum('cachedInputTokens'),
    reasoning_tokens: sum('reasoningTokens'),
  }
}

/** As the run counts them: some servers send what is no positive number, or one that no sum can hold. */
function countOf(count: unknown): number {
  return typeof count === 'number' && count > 0 && count <= Number.MAX_SAFE_INTEGER ? count : 0
}

/** Tells tokens by model, as {@link addModelUsage} adds them up, from what another server may have written instead. */
export function isModelUsages(value: unknown): value is ModelUsage[] {
  const isUsage = ({ model, ...counts }: Fields) =>
    (model === null || typeof model === 'string') && Object.values(counts).every(Number.isFinite)
  return Array.isArray(value) && value.every((each) => isObject(each) && isUsage(each))
}

/** Adds the tokens of a model to those of all. */
export function addModelUsage(all: readonly ModelUsage[], added: ModelUsage): ModelUsage[] {
  const before = all.find(({ model }) => model === added.model)
  if (!before) return [...all, added]
  const sum: ModelUsage = {
    model: added.model,
    input_tokens: before.input_tokens + added.input_tokens,
    output_tokens: before.output_tokens + added.output_tokens,
    cached_input_tokens: before.cached_input_tokens + added.cached_input_tokens,
    reasoning_tokens: before.reasoning_tokens + added.reasoning_tokens,
  }
  return all.map((each) => (each === before ? sum : each))
}

function listValues(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === undefined ? '' : String(value)
  return Object.values(value)
    .map((each) => shortLine(typeof each === 'string' ? each : JSON.stringify(each), MAX_ARGUMENT))
    .join(', ')
}

function shortLine(text: string, max: number): string {
  return shorten(text.replace(/\s+/g, ' '), max)
}
