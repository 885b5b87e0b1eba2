import { clientCodeOf, HostError, hasCode, ModelRefused, messageOf } from '../errors.ts'
import type { Redact } from '../redaction/redact.ts'
import { describeException, withoutPlainName } from '../run/calls/agent-events.ts'
import { foldStack } from '../run/calls/fold-stack.ts'

/** Returns the message for clients when an agent fails. */
export type DescribeFailure = (error: unknown) => string

/** `Agent execution failed`; only debug mode adds the agent's error, which may hold what no client should see. */
export function makeDescribeFailure(debug: boolean, redact: Redact): DescribeFailure {
  return (error) => {
    if (error instanceof HostError) {
      if (error.code === 'RUN_ABORTED') {
        return isTimeout(error.cause) ? error.cause.message : 'The run was aborted.'
      }
      // Faults of the request, not secrets of the agent.
      if (error.code === 'OUTPUT_INVALID' || error.code === 'REQUEST_INVALID' || clientCodeOf(error))
        return error.message
    }
    return debug ? `Agent execution failed: ${redact(messageOf(error))}` : 'Agent execution failed'
  }
}

export function isTimeout(cause: unknown): cause is HostError {
  return hasCode(cause, 'RUN_TIMEOUT')
}

/** Level of the line of a failure: an error of agent-host's own, which says what to do, is a warning. */
export function levelOfFailure(error: unknown): 'warn' | 'error' {
  return error instanceof HostError && error.code !== 'AGENT_FAILED' ? 'warn' : 'error'
}

/** Message of a failure for the log. Faults of agent-host keep their whole stack, those of agents at the level `debug`. */
export function describeFault(error: unknown, { level }: { readonly level?: string | undefined }): string {
  if (!(error instanceof HostError)) return describeException(error)
  if (error.code === 'RUN_ABORTED' && error.cause instanceof Error) return `${error.message} ${error.cause.message}`
  if (error.code !== 'AGENT_FAILED') return describeRefusal(error)
  const exception = describeException(error.cause ?? error)
  const isDetailed = level === 'debug' || level === 'trace'
  const shown = isDetailed ? exception : withoutPlainName(foldStack(exception, { projectDir: process.cwd() }))
  return `${error.agentId === undefined ? 'The agent' : `Agent '${error.agentId}'`} failed: ${shown}`
}

export function describeRefusal(error: Error): string {
  const { cause } = error
  const ofVendor = cause instanceof ModelRefused || cause instanceof AggregateError ? [cause.message] : []
  return [error.message, ...(error instanceof HostError ? error.suggestions : []), ...ofVendor].join(' ')
}
