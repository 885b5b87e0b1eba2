import { Flags } from '@oclif/core'
import { HostError, messageOf } from '../../errors.ts'
import { fieldsOf } from '../../json.ts'
import { SERVER_OPTIONS } from '../../server/options/options.ts'
import type { Approval, ApprovalDecision, HiddenApproval } from '../../wire/approval.ts'
import { agentDirFlag } from '../agent-dir-flag.ts'
import { pickServerFlags } from '../server-flags.ts'

/** Flags of the commands that ask a running server, or the store of the project. */
export const serverFlags = {
  url: Flags.string({
    description: 'Address of the server [default: the development server of this project, or else its store]',
    helpValue: '<url>',
    helpGroup: 'server',
  }),
  'api-key': Flags.string({
    description: "API key of the server's responses adapter",
    env: SERVER_OPTIONS.responsesApiKey.variable,
    helpGroup: 'server',
  }),
  ...pickServerFlags(['store', 'responses-dir']),
  'agent-dir': agentDirFlag,
}

/** Values of {@link serverFlags}. */
export interface ServerFlags {
  readonly url?: string | undefined
  readonly 'api-key'?: string | undefined
}

/** Request to a server. */
export interface SentRequest {
  readonly method?: 'GET' | 'POST'
  readonly body?: string
  readonly headers: Record<string, string>
}

export type Send = (url: string, request: SentRequest) => Promise<Response>

const PAGE = 100

/** Asks a running server for its approvals. */
export class ApprovalsClient {
  readonly #url: string
  readonly #send: Send
  readonly #headers: Readonly<Record<string, string>>

  constructor({ url = 'http://127.0.0.1', 'api-key': apiKey }: ServerFlags, send: Send = fetch) {
    this.#send = send
    this.#url = `${url.replace(/\/+$/, '')}/compat`
    this.#headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  }

  /** The oldest first: they have waited longest. */
  async list(): Promise<readonly Approval[]> {
    const { data } = (await this.#request(`/approvals?order=asc&limit=${PAGE}`)) as {
      data: (Approval | HiddenApproval)[]
    }
    return data.map((approval) => {
      if (approval.id === null) throw this.#hidden()
      return approval
    })
  }

  /**
   * The approval that an id, or its beginning, means; with or without `mcpr_`.
   *
   * @throws HostError `REQUEST_INVALID` when it means none, or several that wait
   */
  async find(prefix: string): Promise<Approval> {
    const known = (await this.list()).filter(({ id }) => id.startsWith(prefix) || id.slice(PREFIX).startsWith(prefix))
    const [found, other] = known
    if (found && !other) return found
    const exact = known.find(({ id }) => id === prefix)
    if (exact) return exact
    if (other) {
      const suggestions = known.map(({ id }) => id)
      throw new HostError('REQUEST_INVALID', `Several approvals begin with '${prefix}'.`, { suggestions })
    }
    return (await this.#request(`/approvals/${encodeURIComponent(prefix)}`)) as Approval
  }

  /** Text of the user in the request that waits; undefined where it has decisions and outputs alone. */
  async questionOf({ response_id: id }: Approval): Promise<string | undefined> {
    const path = `/responses/${encodeURIComponent(id)}/input_items?order=desc&limit=${PAGE}`
    const { data } = (await this.#request(path)) as { data: readonly InputMessage[] }
    const { content = [] } = data.find(({ role }) => role === 'user') ?? {}
    return content.find(({ text }) => text !== undefined)?.text
  }

  async decide(id: string, decision: ApprovalDecision): Promise<Approval> {
    const body = JSON.stringify(decision)
    return (await this.#request(`/approvals/${encodeURIComponent(id)}`, { method: 'POST', body })) as Approval
  }

  #hidden(): HostError {
    const { hostname } = new URL(this.#url)
    return new HostError('REQUEST_INVALID', `The server does not show approvals at the name ${hostname}.`, {
      suggestions: [`Start it with --allowed-host ${hostname}, or send a key with the scope approve: --api-key.`],
    })
  }

  async #request(path: string, init: Omit<SentRequest, 'headers'> = {}): Promise<unknown> {
    const headers = { ...this.#headers, ...(init.body ? { 'content-type': 'application/json' } : {}) }
    const reply = await this.#send(this.#url + path, { ...init, headers }).catch((cause: unknown) => {
      const reason = messageOf(fieldsOf(cause).cause ?? cause)
      throw new HostError('OPTION_INVALID', `Cannot reach ${this.#url}: ${reason}`, {
        suggestions: ['Start the server: agent-host dev', 'Name another one with --url.'],
        cause,
      })
    })
    const body: unknown = await reply.json().catch(() => ({}))
    if (reply.ok) return body
    const { detail } = fieldsOf(body)
    const reason = typeof detail === 'string' ? detail : `status ${reply.status}`
    const suggestions = reply.status === 404 ? ['`agent-host approvals` lists those that wait.'] : []
    throw new HostError('REQUEST_INVALID', `${reason.replace(/\.$/, '')}.`, { suggestions })
  }
}

/** Length of the beginning that all ids of approvals have. */
const PREFIX = 'mcpr_'.length

interface InputMessage {
  readonly role?: string
  readonly content?: readonly { readonly text?: string }[]
}
