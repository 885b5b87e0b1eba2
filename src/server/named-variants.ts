import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { AgentError } from '../definition/problem.ts'
import { badRequest, type HostError } from '../errors.ts'
import { getOrAdd } from '../get-or-add.ts'
import type { AgentHost } from '../host/host.ts'
import type { NameSeparator } from '../host/registered-agents.ts'
import { RecentlyUsed } from '../recently-used.ts'
import { VARIANT_LIMITS } from '../variants/open-variants.ts'
import type { VariantChange } from '../wire/variant.ts'
import { visitorOf } from './guards/principal.ts'

type Changes = readonly VariantChange[]

/** Header in which a request names the variant of its agent. */
export const VARIANT_HEADER = 'x-agent-variant'

interface NamedVariant {
  readonly agentId: string
  readonly changes: Changes
}

/** Variants of agents by the ids that requests name, each of one tenant. */
export class NamedVariants {
  readonly #host: AgentHost
  readonly #areTaken: boolean
  readonly #byTenant = new Map<string, RecentlyUsed<NamedVariant>>()

  /** @param areTaken false for a server that refuses requests with a variant */
  constructor(host: AgentHost, areTaken: boolean) {
    this.#host = host
    this.#areTaken = areTaken
  }

  /** Remembers a variant that was opened. @returns its id */
  add(tenant: string, variant: NamedVariant): string {
    const id = randomUUID()
    getOrAdd(this.#byTenant, tenant, () => new RecentlyUsed({ ...VARIANT_LIMITS, bytesOf })).set(id, variant)
    return id
  }

  /**
   * Opens the variant that a request names, for its turn.
   *
   * @param name that the request calls the agent by
   * @returns undefined, and no promise, for a request of the agent itself: every one would pay for it
   * @throws HostError `REQUEST_INVALID` for a variant that is unknown, of another agent, or no longer fits; `AGENT_NOT_FOUND`
   */
  of(request: FastifyRequest, name: string, separator: NameSeparator = '/'): Promise<Changes> | undefined {
    const id = request.headers[VARIANT_HEADER]
    return id === undefined ? undefined : this.#open(String(id), request, name, separator)
  }

  async #open(id: string, request: FastifyRequest, name: string, separator: NameSeparator): Promise<Changes> {
    const variant = this.#find(id, request)
    const { agent } = this.#host.resolve(name, separator)
    if (agent.id !== variant.agentId) {
      // A visitor for whom its agent does not exist learns nothing of it.
      if (!this.#host.has(variant.agentId)) throw unknown(id)
      throw refuse(`variant '${id}' is one of agent '${variant.agentId}'`)
    }
    try {
      await this.#host.openVariant(name, variant.changes, separator)
      return variant.changes
    } catch (error) {
      if (!(error instanceof AgentError)) throw error
      throw refuse(`variant '${id}' does not fit agent '${agent.id}' any more: ${error.message}`)
    }
  }

  #find(id: string, request: FastifyRequest): NamedVariant {
    if (!this.#areTaken) throw refuse('this server takes no variants; --allow-variants allows them')
    const { principal, origins } = visitorOf(request)
    const isHidden = !principal.hasKey && origins.isForeign(request)
    const found = isHidden ? undefined : this.#byTenant.get(principal.tenant)?.get(id)
    if (found) return found
    throw unknown(id)
  }
}

function bytesOf({ changes }: NamedVariant): number {
  return JSON.stringify(changes).length
}

function unknown(id: string): HostError {
  return refuse(`there is no variant '${id.slice(0, 100)}'. One is forgotten after an hour without use`)
}

function refuse(reason: string): HostError {
  return badRequest(`${VARIANT_HEADER}: ${reason}`, { field: VARIANT_HEADER })
}
