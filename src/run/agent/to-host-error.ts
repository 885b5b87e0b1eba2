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
export function toHostError(cause: unknown, run: AgentRun): HostError {
  try {
    return translate(cause, run)
  } catch {
    // A proxy that throws: nobody could read it as a cause.
    return new HostError('AGENT_FAILED', messageOf(cause), { agentId: run.agentId })
  }
}

function translate(cause: unknown, { agentId, answer }: AgentRun): HostError {
  const isOurs = cause instanceof HostError && OURS.has(cause.code)
  if (isOurs) return cause
  const [refused] = originsIn(cause, ModelRefused)
  if (refused) return toRefusal(refused, agentId, cause)
  return new HostError('AGENT_FAILED', messageOf(cause), {
    cause,
    agentId,
    limit: answer.isUntouched ? findLimit(cause) : undefined,
  })
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

/** One of several models is enough for an answer: the first to ask again counts. */
function findLimit(error: unknown): ModelLimit | undefined {
  const [first, ...others] = originsIn(error, ModelLimited)
  return others.reduce((a, b) => ((b.retryAfterSeconds ?? 0) < (a?.retryAfterSeconds ?? 0) ? b : a), first)
}

/**
 * Returns the errors of a class that an error comes from; of several models, if all of them have one.
 *
 * @param within errors around it: those of user code may form a circle
 */
function originsIn<T>(error: unknown, type: new (...args: never[]) => T, within: readonly unknown[] = []): T[] {
  if (error instanceof type) return [error]
  if (!(error instanceof Error) || within.includes(error)) return []
  const around = [...within, error]
  if (!(error instanceof AggregateError)) return originsIn(error.cause, type, around)
  const found = error.errors.map((inner) => originsIn(inner, type, around))
  return found.some(({ length }) => length === 0) ? [] : found.flat()
}
