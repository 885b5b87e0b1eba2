import { Flags } from '@oclif/core'
import { HostError, messageOf } from '../../errors.ts'
import { SERVER_OPTIONS } from '../../server/options.ts'
import type { Approval, ApprovalDecision } from '../../wire/approval.ts'

/** Flags of the commands that ask a running server. */
export const serverFlags = {
  url: Flags.string({ description: 'Address of the server', default: 'http://127.0.0.1:9001' }),
  'api-key': Flags.string({
    description: "API key of the server's responses adapter",
    env: SERVER_OPTIONS.responsesApiKey.variable,
  }),
}

/** Asks a running server for its approvals. */
export class ApprovalsClient {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>

  constructor({ url, 'api-key': apiKey }: { url: string; 'api-key'?: string | undefined }) {
    this.#url = `${url.replace(/\/+$/, '')}/compat/approvals`
    this.#headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  }

  /** The oldest first: they have waited longest. */
  async list(): Promise<readonly Approval[]> {
    const { data } = (await this.#request('?order=asc&limit=100')) as { data: Approval[] }
    return data
  }

  async decide(id: string, decision: ApprovalDecision): Promise<Approval> {
    const body = JSON.stringify(decision)
    return (await this.#request(`/${encodeURIComponent(id)}`, { method: 'POST', body })) as Approval
  }

  async #request(path: string, init: RequestInit = {}): Promise<unknown> {
    const headers = { ...this.#headers, ...(init.body ? { 'content-type': 'application/json' } : {}) }
    const reply = await fetch(this.#url + path, { ...init, headers }).catch((cause: unknown) => {
      const reason = messageOf((cause as Error).cause ?? cause)
      throw new HostError('OPTION_INVALID', `Cannot reach ${this.#url}: ${reason}`, {
        suggestions: ['Start the server: agent-host dev', 'Name another one with --url.'],
        cause,
      })
    })
    const body: unknown = await reply.json().catch(() => ({}))
    if (reply.ok) return body
    const { detail = `status ${reply.status}` } = body as { detail?: string }
    const suggestions = reply.status === 404 ? ['`agent-host approvals` lists those that wait.'] : []
    throw new HostError('REQUEST_INVALID', `${detail.replace(/\.$/, '')}.`, { suggestions })
  }
}
