import { SdkHttpError } from '@modelcontextprotocol/client'
import { causesOf, fieldsOf, messageOf } from 'agent-host'

const MAX_CHARS = 300

/** Returns true for a failure of `fetch` to reach the server. */
export function isUnreachable(error: unknown): boolean {
  return networkErrorOf(error) !== undefined
}

/** Returns true for the words by which servers say that they do not have a tool: the protocol has no code for it. */
export function saysUnknownTool(text: string): boolean {
  return /\bunknown tool\b|\bno (such )?tool\b|\btool\b.{0,200}\b(not found|does not exist)\b/is.test(
    text.slice(0, 500),
  )
}

/** The reason why a server cannot be used, in a sentence. That of the network where there is one: `fetch failed` says nothing. */
export function reasonOf(error: unknown): string {
  const message = messageOf(networkErrorOf(error) ?? error)
  const reason = message.endsWith('fetch failed') ? messageOf(causesOf(error).at(-1)) : message
  const status = statusOf(error)
  const [, type] = /Unexpected content type: ([\w/+.-]+)/.exec(reason) ?? []
  if (type !== undefined) return `it does not speak MCP: it answers with ${type === 'null' ? 'nothing' : type}`
  if (/<(!doctype|html|body)\b/i.test(reason)) return `it does not speak MCP: it answers with a web page${status}`
  if (/"code": ?"(invalid|unrecognized|too|not)_/.test(reason))
    return 'it does not speak MCP: its answer is no message of it'
  const said = reason.replace(SDK_WORDS, '').replace(/\s+/g, ' ').trim()
  const line = said.includes('(HTTP ') || said.includes('with HTTP ') ? said : said + status
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}…` : line
}

/** Words of the SDK before the reason of a server. */
const SDK_WORDS = /^(Version negotiation (probe )?failed|Error POSTing to endpoint): /

function statusOf(error: unknown): string {
  const answer = causesOf(error).find((cause) => cause instanceof SdkHttpError)
  return answer ? ` (status ${answer.status})` : ''
}

/** The cause of an error that is one of the network. */
function networkErrorOf(error: unknown): unknown {
  const isOfNetwork = /^(ECONN|ENOTFOUND|EHOST|ENET|ETIMEDOUT|EPIPE|UND_ERR_SOCKET)/
  return causesOf(error).find((cause) => isOfNetwork.test(String(fieldsOf(cause).code)))
}
