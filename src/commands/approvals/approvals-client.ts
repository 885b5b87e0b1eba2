import { Flags } from '@oclif/core'
import { badOption, badRequest, type HostError } from '../../errors.ts'
import { fieldsOf } from '../../json.ts'
import { isUser } from '../../protocols/message.ts'
import { SERVER_OPTIONS } from '../../server/options/options.ts'
import type { Approval, ApprovalDecision, HiddenApproval } from '../../wire/approval.ts'
import { agentDirFlag } from '../agents/agent-dir-flag.ts'
import { type Send, type SentRequest, ServerClient } from '../server/server-client.ts'
import { pickServerFlags } from '../server/server-flags.ts'
import { ambiguousId } from '../terminal/ambiguous-id.ts'

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

/** Flags of the commands that decide: those that decide in the store write the audit log. */
export const decideFlags = { ...serverFlags, ...pickServerFlags(['audit-log', 'secret-key']) }

/** Values of {@link serverFlags}. */
export interface ServerFlags {
  readonly url?: string | undefined
  readonly 'api-key'?: string | undefined
}

const PAGE = 100

/** Asks a running server for its approvals. */
export class ApprovalsClient {
  readonly #client: ServerClient

  constructor({ url = 'http://127.0.0.1', 'api-key': apiKey }: ServerFlags, send?: Send) {
    this.#client = new ServerClient(url, apiKey, 'Name another one with --url.', send)
  }

  /** All that wait, the oldest first. */
  async list(): Promise<readonly Approval[]> {
    const found: Approval[] = []
    for (let hasMore = true; hasMore; ) {
      const last = found.at(-1)
      const page = await this.#page(last === undefined ? '' : `&after=${encodeURIComponent(last.id)}`)
      for (const approval of page.data) {
        if (approval.id === null) throw this.#hidden()
        found.push(approval)
      }
      hasMore = page.has_more && page.data.length > 0
    }
    return found
  }

  /**
   * The approval that an id, or its beginning, means; with or without `mcpr_`.
   *
   * @throws HostError `REQUEST_INVALID` when it means none, or several that wait; `OPTION_INVALID` for no character of an id: in a
   *   script, the variable behind it is missing
   */
  async find(prefix: string): Promise<Approval> {
    const beginning = prefix.replace(PREFIX, '')
    const suggestions = ['`agent-host approvals` lists those that wait.']
    if (beginning === '') throw badOption('The id of the approval is empty. Nothing was decided.', { suggestions })
    const known = (await this.list()).filter(({ id }) => id.replace(PREFIX, '').startsWith(beginning))
    const [found, other] = known
    if (found && !other) return found
    const exact = known.find(({ id }) => id === prefix)
    if (exact) return exact
    if (other) {
      const ids = known.map(({ id }) => id)
      throw ambiguousId('REQUEST_INVALID', 'pending approvals', prefix, ids)
    }
    const missing = `No pending approval begins with '${prefix}'.`
    return (await this.#request(`/approvals/${encodeURIComponent(prefix)}`, undefined, {
      missing,
      suggestions,
    })) as Approval
  }

  async #page(after: string): Promise<ApprovalsPage> {
    const missing = `The server at ${this.#client.url} has no approvals.`
    const suggestions = ['They belong to its responses adapter: start it with --adapter ResponsesCompatApiAdapter.']
    const path = `/approvals?order=asc&limit=${PAGE}${after}`
    const page = await this.#request(path, undefined, { missing, suggestions })
    // Another program may answer there, and to any path.
    if (!Array.isArray(fieldsOf(page).data)) throw badRequest(missing, { suggestions })
    return page as ApprovalsPage
  }

  /** Text of the user in the request that waits; undefined where it has decisions and outputs alone. */
  async questionOf({ response_id: id }: Approval): Promise<string | undefined> {
    const path = `/responses/${encodeURIComponent(id)}/input_items?order=desc&limit=${PAGE}`
    const { data } = (await this.#request(path)) as { data: readonly InputMessage[] }
    const { content = [] } = data.find(isUser) ?? {}
    return content.find(({ text }) => text !== undefined)?.text
  }

  async decide(id: string, decision: ApprovalDecision): Promise<Approval> {
    const body = JSON.stringify(decision)
    return (await this.#request(`/approvals/${encodeURIComponent(id)}`, { method: 'POST', body })) as Approval
  }

  #hidden(): HostError {
    const { hostname } = new URL(this.#client.url)
    return badRequest(`The server does not show approvals at the name ${hostname}.`, {
      suggestions: [`Start it with --allowed-host ${hostname}, or send a key with the scope approve: --api-key.`],
    })
  }

  /** @param absence what a 404 means */
  async #request(path: string, init?: SentRequest, absence?: Absence): Promise<unknown> {
    const reply = await this.#client.fetch(`/compat${path}`, init)
    const body: unknown = await reply.json().catch(() => ({}))
    if (reply.ok) return body
    if (reply.status === 404 && absence) {
      const { missing, suggestions } = absence
      throw badRequest(missing, { suggestions })
    }
    const { detail } = fieldsOf(body)
    const reason = typeof detail === 'string' ? detail : `status ${reply.status}`
    const suggestions = reply.status === 401 ? ['Send a key of its responses adapter: --api-key <key>.'] : []
    throw badRequest(`${reason.replace(/\.$/, '')}.`, { suggestions })
  }
}

/** Beginning of the ids of all approvals. */
const PREFIX = /^mcpr_/

interface ApprovalsPage {
  readonly data: readonly (Approval | HiddenApproval)[]
  readonly has_more: boolean
}

/** Message for something that is not there. */
interface Absence {
  readonly missing: string
  readonly suggestions: readonly string[]
}

interface InputMessage {
  readonly role?: string
  readonly content?: readonly { readonly text?: string }[]
}
