import { fieldsOf } from 'agent-host'
import type { OpenApiDocument } from './document.ts'
import type { Operation } from './operations.ts'

/**
 * Returns the address of an operation by the first of its servers, with its variables filled in.
 *
 * @throws HostError `MODULE_INVALID` when there is none, or a variable has no value
 */
export function serverOf(
  document: OpenApiDocument,
  { servers, name }: Pick<Operation, 'servers' | 'name'>,
  values: Readonly<Record<string, string>>,
): string {
  const [server] = servers
  const advice = 'Name the address of the API as `base_url`.'
  const refuse = (message: string) => document.refuse(['servers'], message)
  if (typeof server?.url !== 'string') throw refuse(`'${name}' has no server. ${advice}`)
  const { url, variables } = server
  const known = fieldsOf(variables)
  const filled = url.replace(/\{([^{}]+)\}/g, (_, key: string) => {
    const { default: fallback, enum: choices } = fieldsOf(known[key])
    const value = values[key] ?? fallback
    if (typeof value !== 'string') throw refuse(`the variable '${key}' of a server has no value.`)
    if (Array.isArray(choices) && !choices.includes(value)) {
      throw refuse(`the variable '${key}' is '${value}'; it may be ${choices.join(', ')}.`)
    }
    return value
  })
  if (hasCredentials(filled)) {
    throw refuse(`the server of '${name}' has a user name or a password in its address. ${NO_CREDENTIALS}`)
  }
  if (/^https?:\/\//i.test(filled) && URL.canParse(filled)) return filled
  throw refuse(`the server '${filled}' of '${name}' is not an address. ${advice}`)
}

/** Requests refuse such an address, with a message that shows it. */
export function hasCredentials(address: string): boolean {
  const url = URL.parse(address)
  return url !== null && url.username + url.password !== ''
}

export const NO_CREDENTIALS = 'Give them as `security` or `headers`.'
