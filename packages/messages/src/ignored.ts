import { fieldsOf } from 'agent-host'
import { invalid } from './errors.ts'
import { type Block, MessageRequest, type WireTool } from './schema.ts'

/** Fields that are not named: the schema has those with an effect, and `cache_control` is a hint. */
const KNOWN = new Set([...Object.keys(MessageRequest.properties), 'cache_control'])
/** Maximum number of parts that are named. */
const MAX_NAMED = 20

/** Beta headers whose features need nothing here, or work: by the start of their name. All others are named as ignored. */
const SERVED_BETAS =
  /^(claude-code|interleaved-thinking|prompt-caching|fine-grained-tool-streaming|oauth|token-counting)-/

/** Tools that the vendor runs on its servers: left out, so that the agent answers with its own. */
const SERVER_TOOLS = /^(web_search|web_fetch|code_execution|tool_search_tool)_/

/**
 * Returns what of a request has no effect here, for the header `x-ignored`.
 *
 * @throws HostError `REQUEST_INVALID` for what a client would wait for in vain
 */
export function findIgnored(body: MessageRequest, beta: string): string[] {
  const fields: Readonly<Record<string, unknown>> = body
  if (isGiven(fields.mcp_servers)) {
    throw invalid('mcp_servers', 'is not served. Give the agent the tools: module tools/mcp.')
  }
  const betas = beta.split(',').map((name) => name.trim())
  const ignored = [
    ...Object.keys(fields).filter((field) => !KNOWN.has(field) && isGiven(fields[field])),
    ...(body.tools ?? []).flatMap((tool) => (isServerTool(tool) ? [`tools.${tool.type}`] : [])),
    ...(hasCitations(body) ? ['citations'] : []),
    ...betas.filter((name) => name !== '' && !SERVED_BETAS.test(name)).map((name) => `anthropic-beta.${name}`),
  ]
  return [...new Set(ignored)].slice(0, MAX_NAMED).map(asHeader)
}

/** A header takes no line breaks, and few signs beyond ASCII. */
function asHeader(text: string): string {
  return text.slice(0, 80).replaceAll(/[^\w.-]/g, '_')
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
}

/** Tells whether the vendor would run a tool. */
export function isServerTool({ type }: WireTool): boolean {
  return typeof type === 'string' && SERVER_TOOLS.test(type)
}

function hasCitations({ messages }: MessageRequest): boolean {
  const isCited = ({ citations }: Block) => fieldsOf(citations).enabled === true
  return messages.some(({ content }) => typeof content !== 'string' && content.some(isCited))
}
