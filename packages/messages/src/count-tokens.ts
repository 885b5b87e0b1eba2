import { type AgentHost, isObject, LLM, type Turn } from 'agent-host'

/**
 * Asks the vendor of an agent's model for the tokens of a request.
 *
 * @returns undefined where the agent has no model or several, or its module cannot say
 * @throws unknown of the model
 */
export async function countTokens(host: AgentHost, name: string, turn: Turn): Promise<number | undefined> {
  const { id } = host.resolve(name).agent
  const models = host.describe(id)?.modules.filter(({ provides }) => provides.includes(LLM.name)) ?? []
  const [model] = models
  if (!model || models.length > 1) return undefined
  const act = async (llm: LLM, run: Parameters<LLM['generate']>[1]) => {
    if (!llm.countTokens) return undefined
    const { messages, clientTools: tools = [], requestOptions } = turn
    return llm.countTokens({ ...requestOptions, messages, tools }, run)
  }
  return host.callModule(id, { moduleId: model.id, protocol: LLM, isLook: true, act })
}

/** Bytes of text in one token, on average. */
const TOKEN_BYTES = 4
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
  if (typeof value === 'string') return Buffer.byteLength(value) / TOKEN_BYTES
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + weigh(one), 0)
  if (!isObject(value)) return value === undefined || value === null ? 0 : 1
  if (value.type === 'base64') return OF_FILE
  return Object.entries(value).reduce((sum, [name, one]) => sum + name.length / TOKEN_BYTES + weigh(one), 0)
}
