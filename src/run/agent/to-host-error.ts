import { HostError, type ModelLimit, ModelLimited, messageOf } from '../../errors.ts'
import type { AgentRun } from '../agent-run.ts'

const OURS: ReadonlySet<string> = new Set(['RUN_ABORTED', 'REQUEST_INVALID', 'OUTPUT_INVALID'])

/** Returns what a run failed with: faults that are not the agent's keep their code. */
export function toHostError(cause: unknown, { agentId, answer }: AgentRun): HostError {
  const isOurs = cause instanceof HostError && OURS.has(cause.code)
  if (isOurs) return cause
  return new HostError('AGENT_FAILED', messageOf(cause), {
    cause,
    agentId,
    limit: answer.isUntouched ? findLimit(cause) : undefined,
  })
}

/** The limit that an error comes from. One of several models is enough for an answer: the first to ask again counts. */
function findLimit(error: unknown): ModelLimit | undefined {
  if (error instanceof ModelLimited) return error
  if (!(error instanceof AggregateError)) return error instanceof Error ? findLimit(error.cause) : undefined
  const limits = error.errors.map(findLimit)
  if (limits.includes(undefined)) return undefined
  return limits.reduce((a, b) => ((b?.retryAfterSeconds ?? 0) < (a?.retryAfterSeconds ?? 0) ? b : a), limits[0])
}
