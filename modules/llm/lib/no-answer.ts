import { messageOf } from 'agent-host'

/** Returns the error for a request that every model failed to answer. @param failures in the order of the attempts */
export function noAnswer(failures: readonly unknown[]): AggregateError {
  const lines = failures.map((failure, index) => `${index + 1}. ${messageOf(failure)}`)
  return new AggregateError(failures, `No model answered; ${failures.length} were asked:\n${lines.join('\n')}`)
}
