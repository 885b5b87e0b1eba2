import { fieldsOf } from '../../json.ts'
import { endingOf, type RunEnding } from '../../run/run-ending.ts'
import type { RunEnd } from '../../run/turn.ts'
import { toWaitsFor, type WaitingResult } from '../../run/waiting/waits-for.ts'
import type { TracedEvent } from './traced-event.ts'

/** Result of the event that ends a run: what was sent. Fields are named as GraphQL names them. */
export interface RunOutcome extends WaitingResult {
  readonly status: RunEnding
  /** Reason why a completed run stopped before its answer was complete; null when it is. */
  readonly incomplete: string | null
  /** When the last of what it waits for expires, in Unix seconds; left out where something does not. */
  readonly expires_at?: number
  readonly text: string
  readonly attachments: readonly { readonly name: string | null; readonly media_type: string }[]
  /** Null when no text was sent. */
  readonly first_text_ms: number | null
  readonly input_tokens: number
  readonly output_tokens: number
}

/** Attachments that the event names. */
const MAX_ATTACHMENTS = 100

/**
 * The end of a run as the last event of its trace.
 *
 * @param reason why a run that waited ends after all
 */
export function toEndEvent(end: RunEnd, reason: string | null = null): TracedEvent {
  const { runId, agentId, tenant, entryPoint, startedAt, durationMs } = end
  return {
    agent_id: agentId,
    event_name: '__run__.Run.end.end',
    event_type: 'end',
    module_id: '__run__',
    module_class: 'Run',
    method_name: 'end',
    protocol: null,
    time: startedAt + durationMs / 1000,
    call_id: runId,
    caller_id: `agent:${agentId}`,
    arguments: null,
    result: toOutcome(end),
    exception: reason,
    run_id: runId,
    tenant,
    user: null,
    conversation: null,
    parent_call_id: null,
    entry_point: entryPoint,
    agent_version: null,
    variant: null,
    continues: null,
    replays: null,
    parent_run_id: null,
    parent_run_call_id: null,
    duration_ms: durationMs,
  }
}

function toOutcome(end: RunEnd): RunOutcome {
  const { incompleteReason, text, attachments, firstTextMs, usage, pending } = end
  return {
    status: endingOf(end),
    incomplete: incompleteReason ?? null,
    waits_for: pending.map(toWaitsFor),
    ...expiryOf(end),
    text,
    attachments: attachments.slice(0, MAX_ATTACHMENTS).map(({ name = null, mediaType: media_type }) => {
      return { name, media_type }
    }),
    first_text_ms: firstTextMs ?? null,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
  }
}

function expiryOf({ pending, startedAt, durationMs }: RunEnd): Pick<RunOutcome, 'expires_at'> {
  const ttl = Math.max(...pending.map(({ ttlSeconds = Infinity }) => ttlSeconds))
  return Number.isFinite(ttl) ? { expires_at: Math.ceil(startedAt + durationMs / 1000 + ttl) } : {}
}

/** The outcome in the last event of a run; undefined for any other event. */
export function outcomeOf({ event_type, result }: TracedEvent): RunOutcome | undefined {
  const isOutcome = event_type === 'end' && typeof fieldsOf(result).status === 'string'
  return isOutcome ? (result as RunOutcome) : undefined
}
