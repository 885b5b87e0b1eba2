import type { Json } from './responses.ts'
import { HEADERS, type ResponsesProcess } from './responses-process.ts'

/** Asks a server of its own process for approvals: `''`, `?limit=1`, `/<id>`. */
export async function askApprovals({ url }: ResponsesProcess, path: string, decision?: object): Promise<Json> {
  const init = decision ? { method: 'POST', body: JSON.stringify(decision) } : {}
  const address = `${new URL('/compat/approvals', url).href}${path}`
  return (await fetch(address, { headers: HEADERS, ...init })).json()
}
