import {
  badRequest,
  HostError,
  type ModelLimit,
  ModelLimited,
  type ModelRefusal,
  ModelRefused,
  messageOf,
} from '../../errors.ts'
import type { AgentRun } from '../agent-run.ts'

const OURS: ReadonlySet<string> = new Set(['RUN_ABORTED', 'REQUEST_INVALID', 'OUTPUT_INVALID', 'LIMIT_REACHED'])

/** Returns what a run failed with: faults that are not the agent's keep their code. */
export function toHostError(cause: unknown, { agentId, answer }: AgentRun): HostError {
  const isOurs = cause instanceof HostError && OURS.has(cause.code)
  if (isOurs) return cause
  const refused = findRefusal(cause)
  if (refused) return toRefusal(refused, agentId, cause)
  return new HostError('AGENT_FAILED', messageOf(cause), {
    cause,
    agentId,
    limit: answer.isUntouched ? findLimit(cause) : undefined,
  })
}

/** The refusal that an error comes from; of several models, if all of them refuse. */
function findRefusal(error: unknown): ModelRefusal | undefined {
  if (error instanceof ModelRefused) return error
  if (!(error instanceof AggregateError)) return error instanceof Error ? findRefusal(error.cause) : undefined
  const refusals = error.errors.map(findRefusal)
  return refusals.includes(undefined) ? undefined : refusals[0]
}

/** The sentence is ours: the words of a vendor may hold what no client should see. */
function toRefusal({ reason, attachment, index }: ModelRefusal, agentId: string, cause: unknown): HostError {
  if (reason === 'context_length_exceeded') {
    const message = 'The conversation is too long for the model. Shorten it, and send it again.'
    return new HostError('CONTEXT_TOO_LONG', message, { cause, agentId })
  }
  if (reason === 'insufficient_quota') {
    const message = 'The account at the vendor of the model has no quota left.'
    return new HostError('QUOTA_EXHAUSTED', message, { cause, agentId })
  }
  const { mediaType = 'the attachment', data } = attachment ?? {}
  const remedy = data instanceof URL ? ' by its address. Send the file itself, or leave it out.' : '. Leave it out.'
  const field = index === undefined ? 'attachments' : `attachments[${index}]`
  return badRequest(`The model does not take ${mediaType}${remedy}`, { cause, agentId, field })
}

/** The limit that an error comes from. One of several models is enough for an answer: the first to ask again counts. */
function findLimit(error: unknown): ModelLimit | undefined {
  if (error instanceof ModelLimited) return error
  if (!(error instanceof AggregateError)) return error instanceof Error ? findLimit(error.cause) : undefined
  const limits = error.errors.map(findLimit)
  if (limits.includes(undefined)) return undefined
  return limits.reduce((a, b) => ((b?.retryAfterSeconds ?? 0) < (a?.retryAfterSeconds ?? 0) ? b : a), limits[0])
}
