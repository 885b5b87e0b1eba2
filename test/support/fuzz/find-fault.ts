export interface FuzzedAnswer {
  readonly method: string
  readonly url: string
  readonly status: number
  readonly type: string
  readonly body: string
}

/** Failures of an agent, in the words that are meant for clients. */
const AGENT_FAILED = /Agent execution failed|"Internal error: the agent|does not fit/

/** Returns what is wrong with an answer: never a fault of the server, every refusal in the shape of its API, every stream whole. */
export function findFault({ method, url, status, type, body }: FuzzedAnswer): string | undefined {
  if (status >= 500 && !AGENT_FAILED.test(body)) return 'a fault of the server'
  if (method === 'HEAD' || body === '') return undefined
  if (type.startsWith('text/event-stream')) return isWhole(url, body) ? undefined : 'a stream without its end'
  if (!/^application\/(graphql-response\+)?json/.test(type))
    return status < 400 ? undefined : 'a refusal that is no JSON'
  const answer = JSON.parse(body)
  if (status < 400 || /^\/(mcp|api\/ui)\b/.test(url)) return undefined
  const text = url.startsWith('/v1/') ? answer.error?.message : answer.detail
  return typeof text === 'string' ? undefined : 'a refusal without its text'
}

function isWhole(url: string, body: string): boolean {
  if (url.includes('/chat/')) return body.endsWith('data: [DONE]\n\n')
  if (url.includes('/responses')) return /"type":"response\.(completed|failed|incomplete)"/.test(body)
  return body.endsWith('\n\n')
}
