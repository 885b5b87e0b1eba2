import { invalidField } from '../../bodies/invalid-field.ts'
import type { ChatRequest } from './schema.ts'

/**
 * Refuses what would change the shape of the answer, and what no agent can give. Left out, a client would wait for it in vain.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function refuseUnsupported(body: ChatRequest): void {
  const error = findUnsupported(body)
  if (error) throw error
}

function findUnsupported({ n, logprobs, modalities, functions }: Readonly<Record<string, unknown>>) {
  if (typeof n === 'number' && n !== 1) return invalidField('n', 'must be 1: an agent gives one answer.')
  if (logprobs === true) return invalidField('logprobs', 'must be false: agents report no probabilities.')
  if (Array.isArray(modalities) && modalities.some((kind) => kind !== 'text')) {
    return invalidField('modalities', 'must be ["text"]: sound and images of an answer are links in its text.')
  }
  const hasFunctions = Array.isArray(functions) && functions.length > 0
  return hasFunctions ? invalidField('functions', 'cannot be called: send them as tools.') : undefined
}
