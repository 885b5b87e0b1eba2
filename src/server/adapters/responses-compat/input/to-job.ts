import type { Job } from '../../../../durable/queue/job.ts'
import type { RunEvent } from '../../../../run/run-event.ts'
import type { AgentInfo, Turn } from '../../../../run/turn.ts'
import type { CreateRequest } from '../routes/schema.ts'

type EventType = RunEvent['type']

const ANSWER: readonly EventType[] = ['text', 'attachment', 'pending']
const CALLS: readonly EventType[] = ['tool_call', 'tool_result']

/** Events of a response that continues after a decision, for the client that decided. */
export const SHOWN_AFTER_DECISION: readonly EventType[] = [...ANSWER, ...CALLS]

/** Describes a response so that any server can carry it out, or continue it. */
export function toJob(body: CreateRequest, turn: Turn, { approvalTtl, isRestartSafe = false }: AgentInfo): Job {
  const { runId: _id, messages: _messages, pending: _pending, isTrailLost: _lost, answers, ...options } = turn
  const shows = shownEvents(body)
  const isTruncated = body.truncation === 'auto'
  return { agent: body.model, options, answers, isTruncated, shows, isRestartSafe, approvalTtl }
}

/** Events that a client sees as items of the response: own calls and reasoning are shown to those who ask for them. */
function shownEvents({ include, reasoning }: CreateRequest): readonly EventType[] {
  const calls = include?.includes('agent.tool_calls') ? CALLS : []
  return [...ANSWER, ...calls, ...((reasoning ?? undefined) === undefined ? [] : (['reasoning'] as const))]
}
