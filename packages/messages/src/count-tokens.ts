import { isObject } from 'agent-host'

/** Characters of English text in one token of the models of these years, about. */
const CHARACTERS = 4
/** Tokens of a picture or a page, about. */
const OF_FILE = 1_500

/** Estimates the tokens of a request from its texts; bytes count as one picture each. */
export function estimateTokens(body: {
  readonly messages: unknown
  readonly system?: unknown
  readonly tools?: unknown
}): number {
  const { messages, system = '', tools = '' } = body
  return Math.ceil(weigh([messages, system, tools]))
}

function weigh(value: unknown): number {
  if (typeof value === 'string') return value.length / CHARACTERS
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + weigh(one), 0)
  if (!isObject(value)) return value === undefined || value === null ? 0 : 1
  if (value.type === 'base64') return OF_FILE
  return Object.entries(value).reduce((sum, [name, one]) => sum + name.length / CHARACTERS + weigh(one), 0)
}
