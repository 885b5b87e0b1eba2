import { badRequest } from '../../errors.ts'
import { fieldsOf, isObject } from '../../json.ts'
import type { AgentInfo } from '../../run/agent/agent-info.ts'
import { makeMisfitFinder } from '../../run/checks/check-schema.ts'
import type { DurableRequest } from './adapter-runs.ts'

/**
 * Returns a message of JSON, as an agent takes it: a text stays as it is. An agent with an `input` schema gets the value as its input, too.
 *
 * @throws HostError `REQUEST_INVALID` naming the field that does not fit the schema
 */
export function toInput({ input: schema }: AgentInfo, value: unknown): Pick<DurableRequest, 'messages' | 'input'> {
  const { message } = fieldsOf(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (!schema) return { messages: [{ role: 'user', content: text }] }
  const problem = makeMisfitFinder(schema)(value)
  if (problem !== undefined || !isObject(value)) throw badRequest(problem ?? 'It must be an object.')
  return { messages: [{ role: 'user', content: typeof message === 'string' ? message : text }], input: value }
}
