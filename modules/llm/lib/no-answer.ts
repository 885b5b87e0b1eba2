import { messageOf } from 'agent-host'

/** Error of several models that all failed, in the order in which they were asked. */
export function noAnswer(failures: readonly unknown[]): AggregateError {
  const lines = failures.map((failure, index) => `${index + 1}. ${messageOf(failure)}`)
  return new AggregateError(failures, `No model answered; ${failures.length} were asked:\n${lines.join('\n')}`)
}
