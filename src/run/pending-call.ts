import { createHash } from 'node:crypto'
import type { ToolResult } from '../protocols/tool-provider.ts'

/** Call of a tool that a run waits for. */
export interface PendingCall {
  /** Of the tool call in the trail. */
  readonly callId: string
  readonly kind: 'client_tool' | 'approval' | 'question'
  /** Name of the tool: the client's, the one to approve, or the one that asks. */
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** JSON Schema that the answer must fit: of edited arguments, or of the answer to a question. */
  readonly schema?: Readonly<Record<string, unknown>>
  /** Binds an approval to the exact call: SHA-256 (hex) of tool name, arguments and version of the agent. */
  readonly digest?: string
  /** The question, of kind `question`. */
  readonly message?: string
  /** Answers to earlier questions of the same call, in the order of asking. */
  readonly earlierAnswers?: readonly unknown[]
}

/** Answer to a pending call. */
export type PendingAnswer =
  | { readonly callId: string; readonly kind: 'client_tool'; readonly result: ToolResult }
  | {
      readonly callId: string
      readonly kind: 'approval'
      readonly decision: 'approve' | 'reject' | 'edit'
      /** Shown to the model when the call is rejected. */
      readonly reason?: string
      /** Instead of the model's, with `edit`. */
      readonly arguments?: Readonly<Record<string, unknown>>
      /** Of the pending call; a call that has another by now is asked for again. */
      readonly digest?: string
    }
  | {
      readonly callId: string
      readonly kind: 'question'
      /** To every question of the call so far, in the order of asking. */
      readonly answers: readonly unknown[]
      /** The arguments that the call was approved with, where they were edited. */
      readonly arguments?: Readonly<Record<string, unknown>>
    }

/** Digest that binds a decision to the exact call. */
export function digestOf(name: string, args: Readonly<Record<string, unknown>>, agentVersion: string): string {
  return createHash('sha256')
    .update(JSON.stringify([name, sortKeys(args), agentVersion]))
    .digest('hex')
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [key, sortKeys(inner)])
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * Ends the handler of a run that waits. Code of agents may catch it: the host goes by the state of the run, and models and tools
 * refuse further calls.
 */
export class RunWaits extends Error {
  constructor() {
    super('The run waits for an answer, and goes on when it comes.')
    this.name = 'RunWaits'
  }
}
