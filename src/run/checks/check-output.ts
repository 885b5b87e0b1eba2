import { HostError } from '../../errors.ts'
import { parseJson } from '../../json.ts'
import type { AgentRun } from '../agent-run.ts'
import { findMisfit } from './check-schema.ts'
import type { CheckTime } from './check-time.ts'

/**
 * Checks an answer against the schema that its request asks for: no client gets prose where it asked for data.
 *
 * @throws HostError `OUTPUT_INVALID` with the reason
 */
export function checkOutput(run: AgentRun): void {
  const { answer, waiting, agentId, checkTime } = run
  const { responseSchema } = run.requestOptions
  // What was cut off, or waits, is not the answer yet.
  if (!responseSchema || waiting.hasBegun || answer.incompleteReason !== undefined) return
  const problem = findOutputProblem(responseSchema, answer.text, checkTime)
  if (problem === undefined) return
  throw new HostError('OUTPUT_INVALID', `Agent '${agentId}' did not answer as the requested schema says: ${problem}`)
}

function findOutputProblem(
  schema: Readonly<Record<string, unknown>>,
  text: string,
  time: CheckTime,
): string | undefined {
  const value = parseJson(text)
  if (value === undefined) return 'the answer is not JSON.'
  return findMisfit(schema, value, time)
}
