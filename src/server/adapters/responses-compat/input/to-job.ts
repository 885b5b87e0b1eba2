import { ANSWER_EVENTS, CALL_EVENTS, type Job } from '../../../../durable/queue/job.ts'
import type { AgentInfo } from '../../../../run/agent/agent-info.ts'
import type { Turn } from '../../../../run/turn.ts'
import type { CreateRequest } from '../routes/schema.ts'

/** Describes a response so that any server can carry it out, or continue it. */
export function toJob(body: CreateRequest, turn: Turn, { approvalTtl, isRestartSafe = false }: AgentInfo): Job {
  const {
    runId: _id,
    messages: _messages,
    pending: _pending,
    isTrailLost: _lost,
    answers,
    answersTo,
    ...options
  } = turn
  const shows = shownEvents(body)
  const isTruncated = body.truncation === 'auto'
  const sealsReasoning = body.include?.includes('reasoning.encrypted_content') ? { sealsReasoning: true } : {}
  return {
    agent: body.model,
    options,
    answers,
    answersTo,
    isTruncated,
    shows,
    isRestartSafe,
    approvalTtl,
    ...sealsReasoning,
  }
}

/** Events that a client sees as items of the response: own calls and reasoning are shown to those who ask for them. */
function shownEvents({ include, reasoning }: CreateRequest): Job['shows'] {
  const calls = include?.includes('agent.tool_calls') ? CALL_EVENTS : []
  return [...ANSWER_EVENTS, ...calls, ...((reasoning ?? undefined) === undefined ? [] : (['reasoning'] as const))]
}
