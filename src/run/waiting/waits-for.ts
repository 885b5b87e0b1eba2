import { causesOf } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { AgentRun } from '../agent-run.ts'
import { type PendingCall, RunWaits, toolCallOf } from './pending-call.ts'

/** Result of a call that ended because its run waits. Fields are named as events name them. */
export interface WaitingResult {
  readonly waits_for: readonly WaitsFor[]
}

/** Call that a run waits for: the output of a client's tool, a person's decision or answer. */
export interface WaitsFor {
  readonly kind: PendingCall['kind']
  readonly name: string
  readonly call_id: string
}

/**
 * Result of a call that ended with this error: what its own tool call waits for, otherwise what the run waits for. Undefined for any
 * other error.
 */
export function waitingResultOf(error: unknown, { waiting, toolCallId }: AgentRun): WaitingResult | undefined {
  // Modules may wrap the error.
  if (!causesOf(error).some((cause) => cause instanceof RunWaits)) return undefined
  const own = waiting.pending.filter((call) => toolCallOf(call) === toolCallId)
  return { waits_for: (own.length > 0 ? own : waiting.pending).map(toWaitsFor) }
}

export function toWaitsFor({ kind, name, callId }: PendingCall): WaitsFor {
  return { kind, name, call_id: callId }
}

/** Tells the result of a call that ended because its run waits. */
export function isWaitingResult(result: unknown): result is WaitingResult {
  return isObject(result) && Array.isArray(result.waits_for)
}
