import type { Job } from '../../../../durable/queue/job.ts'
import type { RunEvent } from '../../../../run/run-event.ts'
import type { AgentInfo, Turn } from '../../../../run/turn.ts'
import type { CreateRequest } from '../routes/schema.ts'

type EventType = RunEvent['type']

const ANSWER: readonly EventType[] = ['text', 'attachment', 'pending']
const CALLS: readonly EventType[] = ['tool_call', 'tool_result']

/** Events that a client sees as items of the response: own calls and reasoning are shown to those who ask for them. */
export function shownEvents({ include, reasoning }: CreateRequest): readonly EventType[] {
  const calls = include?.includes('agent.tool_calls') ? CALLS : []
  return [...ANSWER, ...calls, ...((reasoning ?? undefined) === undefined ? [] : (['reasoning'] as const))]
}

/** Events of a response that continues after a decision, for whoever decided. */
export const SHOWN_AFTER_DECISION: readonly EventType[] = [...ANSWER, ...CALLS]

/** Describes a background response so that any server can carry it out. */
export function toJob(
  { model }: CreateRequest,
  turn: Turn,
  { approvalTtl, isRestartSafe = false }: AgentInfo,
  shows: readonly EventType[],
): Job {
  return { agent: model, turn, shows, isRestartSafe, ...(approvalTtl === undefined ? {} : { approvalTtl }) }
}
