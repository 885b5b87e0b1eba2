import { type Json, RESPONSES } from './responses.ts'
import { type RunningCli, startCli } from './run-cli.ts'

const KEY = 'key-1234'
export const HEADERS = { 'content-type': 'application/json', authorization: `Bearer ${KEY}` }
const ADAPTERS = ['--adapter', 'ResponsesCompatApiAdapter,ChatCompatApiAdapter', '--port', '0']

export type Ask = (
  path: string,
  body?: object,
  method?: string,
) => Promise<{ status: number; headers: Headers; json: Json }>

/** A server in a process of its own. */
export interface ResponsesProcess extends RunningCli {
  readonly url: string
  readonly ask: Ask
}

/** Starts the built server in a process of its own, with a store in its folder. */
export async function startResponses(
  cwd: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<ResponsesProcess> {
  const server = startCli(['serve', ...ADAPTERS, '--responses-api-key', KEY, ...args], { cwd, env })
  const [, address] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
  const url = `${address}${RESPONSES}`
  const ask: Ask = async (path, body, method = body ? 'POST' : 'GET') => {
    const init = body ? { body: JSON.stringify(body) } : {}
    const reply = await fetch(url + path, { method, headers: HEADERS, ...init })
    return { status: reply.status, headers: reply.headers, json: (await reply.json()) as Json }
  }
  return { ...server, url, ask }
}
