import { Lanes } from '../../../../async.ts'
import { encodeUri } from '../../../../decode-uri.ts'
import { type AgentHost, VISITS } from '../../../../host/host.ts'
import { providersOf } from '../../../../host/providers-of.ts'
import { lengthOfTexts } from '../../../../json.ts'
import { ConversationHistory } from '../../../../protocols/conversation-history.ts'
import { Memory, type MemoryEntry } from '../../../../protocols/memory.ts'
import type { Message } from '../../../../protocols/message.ts'
import { Response } from '../../../../protocols/response.ts'
import type { Run } from '../../../../protocols/run.ts'
import { hideSecrets, type Redact } from '../../../../redaction/redact.ts'
import type { AgentInfo } from '../../../../run/agent/agent-info.ts'
import { heapShare } from '../../../bodies/byte-budget.ts'
import type { CallMemory, TitleRange } from '../call-memory/call-memory.ts'
import { INTERNAL_ERROR, invalidParams, JsonRpcError, RESOURCE_NOT_FOUND } from '../json-rpc.ts'
import { cutPage, PAGE_SIZE, readCursor } from '../pages.ts'
import { AgentSkills } from './agent-skills.ts'
import type { Resource, ResourceContent } from './resource.ts'
import { type ResourcePlace, readResourceUri, resourceUri } from './resource-uri.ts'

/** Resources with names in their addresses (`ResourceTemplate` of the MCP schema). */
export interface ResourceTemplate extends Omit<Resource, 'uri'> {
  readonly uriTemplate: string
}

export interface ListResult {
  readonly resources: readonly Resource[]
  readonly nextCursor?: string
}

export interface ReadResult {
  readonly contents: readonly ResourceContent[]
}

export interface AgentResourcesOptions {
  readonly host: AgentHost
  readonly memory: CallMemory
  readonly redact: Redact
}

const JSON_TYPE = 'application/json'
/** The latest entries of a memory that are read at once. */
const MAX_ENTRIES = 1000
/** Conversations that are read at once: each may be as long as an answer. */
const LANES = 2

/** Maximum length of a resource, and of the answers of a batch together: what large answers over HTTP may come to at a time. */
export function maxLength(): number {
  return Math.floor(heapShare(1 / 32))
}

/**
 * Memories, kept conversations and skills as resources, of the agents whose files say `expose`. Listing runs no code of an agent, except
 * to list skills; reading a memory is a run of that module alone, which is traced like any other.
 */
export class AgentResources {
  readonly skills: AgentSkills
  readonly #options: AgentResourcesOptions
  readonly #conversations = new Lanes(LANES)

  constructor(options: AgentResourcesOptions) {
    this.#options = options
    this.skills = new AgentSkills(options.host, options.redact)
  }

  /** True when no agent exposes anything: the server then has no resources. */
  get isEmpty(): boolean {
    return !this.#options.host.list().some(({ expose = [] }) => expose.length > 0)
  }

  /** @throws JsonRpcError `INVALID_PARAMS` */
  async list(cursor: unknown, tenant: string): Promise<ListResult> {
    const after = readCursor(cursor)
    const skills = await this.skills.listResources(tenant)
    const memories = await Promise.all(this.#exposing('memory').map((info) => this.#memories(info, tenant)))
    const found = [...memories.flat(), ...skills]
    // In the order of the addresses. One more than a page has tells that there is another.
    let left = PAGE_SIZE + 1
    for (const { id } of this.#exposing('conversations').sort(byAddress)) {
      const conversations = left > 0 ? await this.#keptConversations(id, tenant, { after, limit: left }) : []
      found.push(...conversations)
      left -= conversations.length
    }
    const { items: resources, nextCursor } = cutPage(found, ({ uri }) => uri, cursor)
    return { resources, nextCursor }
  }

  listTemplates(): { readonly resourceTemplates: readonly ResourceTemplate[] } {
    const entries = this.#exposing('memory').flatMap(({ id }) =>
      providersOf(this.#options.host, id, Memory).map((moduleId) => ({
        uriTemplate: `${resourceUri(id, 'memory', moduleId)}/{id}{?user}`,
        name: `${id}: an entry of ${moduleId}`,
        description: 'One entry of the memory, and the user whose it is where it keeps users apart.',
        mimeType: JSON_TYPE,
      })),
    )
    const conversations = this.#exposing('conversations').flatMap(({ id }) =>
      providersOf(this.#options.host, id, ...KEEPS_CONVERSATIONS).map((moduleId) => ({
        uriTemplate: `${resourceUri(id, 'conversations', moduleId)}/{conversation_id}{?user}`,
        name: `${id}: a conversation`,
        description: 'A conversation by its id, and the user whose it is.',
        mimeType: JSON_TYPE,
      })),
    )
    return { resourceTemplates: [...entries, ...conversations] }
  }

  /** @throws JsonRpcError `INVALID_PARAMS`, `RESOURCE_NOT_FOUND`, `INTERNAL_ERROR` for what is too long; HostError when the module fails */
  async read({ uri }: Readonly<Record<string, unknown>>, tenant: string): Promise<ReadResult> {
    if (typeof uri !== 'string') throw invalidParams('uri must be a string')
    const file = await this.skills.read(uri, tenant)
    if (file) return { contents: [file] }
    const place = readResourceUri(uri)
    const value = place && (await this.#readPlace(place, tenant))
    if (value === undefined) throw new JsonRpcError(RESOURCE_NOT_FOUND, `Resource not found: ${uri}`)
    // Before the texts are written once more.
    const text = lengthOfTexts(value) > maxLength() ? undefined : JSON.stringify(value, null, 2)
    if (text === undefined || text.length > maxLength()) throw tooLongResource(uri)
    return { contents: [{ uri, mimeType: JSON_TYPE, text: hideSecrets(text, this.#options.redact) }] }
  }

  /** Returns undefined for resources that do not exist or are not exposed. */
  async #readPlace(place: ResourcePlace, tenant: string): Promise<unknown> {
    const { agentId, kind } = place
    const isExposed = this.#exposing(kind === 'memory' ? 'memory' : 'conversations').some(({ id }) => id === agentId)
    if (!isExposed) return undefined
    if (kind !== 'conversation') {
      const user = this.#ownUser ?? place.user
      if (place.user !== undefined && place.user !== user) return undefined
      return kind === 'memory'
        ? this.#readMemory({ ...place, user }, tenant)
        : this.#readModuleConversation({ ...place, user }, tenant)
    }
    const memory = this.#options.memory.of(tenant)
    const read = () => memory.readConversation(place.conversationId, agentId, this.#ownUser)
    return (await this.#conversations.run(read))?.map(toView)
  }

  async #readMemory(
    { agentId, moduleId, entryId, user }: Extract<ResourcePlace, { kind: 'memory' }>,
    tenant: string,
  ): Promise<unknown> {
    if (!providersOf(this.#options.host, agentId, Memory).includes(moduleId)) return undefined
    return this.#options.host.callModule(agentId, {
      moduleId,
      protocol: Memory,
      tenant,
      user,
      act: async (memory, run): Promise<MemoryEntry | MemoryEntry[] | undefined> =>
        entryId === undefined ? (await memory.list(run)).slice(-MAX_ENTRIES).reverse() : memory.get(entryId, run),
    })
  }

  async #readModuleConversation(
    { agentId, moduleId, conversationId, user }: Extract<ResourcePlace, { kind: 'module-conversation' }>,
    tenant: string,
  ): Promise<unknown> {
    if (!providersOf(this.#options.host, agentId, ...KEEPS_CONVERSATIONS).includes(moduleId)) return undefined
    const messages = await this.#options.host.callModule(agentId, {
      moduleId,
      protocol: ConversationHistory,
      tenant,
      act: (history, run) => history.getHistory(run.with({ user, metadata: { conversation_id: conversationId } })),
    })
    return messages?.length ? messages.map(toView) : undefined
  }

  /** User whose things alone exist for the sender; undefined where the address names one. */
  get #ownUser(): string | undefined {
    return this.#options.host[VISITS].current?.user
  }

  #exposing(kind: NonNullable<AgentInfo['expose']>[number]): AgentInfo[] {
    return this.#options.host.list().filter(({ expose = [] }) => expose.includes(kind))
  }

  async #memories({ id }: AgentInfo, tenant: string): Promise<Resource[]> {
    const own = this.#ownUser
    const act = async (memory: Memory, run: Run) => {
      const owners = (await memory.owners?.(run)) ?? [{ user: '' }]
      return owners.filter(({ user }) => user === '' || own === undefined || user === own)
    }
    const lists = providersOf(this.#options.host, id, Memory).map(async (moduleId) => {
      const call = { moduleId, protocol: Memory, tenant, isLook: true, act }
      // Reading one that fails says why.
      const owners = (await this.#options.host.callModule(id, call).catch(() => undefined)) ?? [{ user: '' }]
      return owners.map(({ user }) => ({
        uri: resourceUri(id, 'memory', moduleId) + (user && `?user=${encodeUri(user)}`),
        name: `${id}: ${moduleId}${user && ` of ${user}`}`,
        description: `What ${id} remembers${user && ` of ${user}`}, the latest ${MAX_ENTRIES} entries, newest first.`,
        mimeType: JSON_TYPE,
      }))
    })
    return (await Promise.all(lists)).flat()
  }

  /** @param range `after` is the address of the last resource before */
  async #keptConversations(agentId: string, tenant: string, { after = '', limit }: TitleRange): Promise<Resource[]> {
    const addresses = resourceUri(agentId, 'conversations', '')
    const isWithin = after.startsWith(addresses)
    if (after > addresses && !isWithin) return []
    const range = { limit, user: this.#ownUser, after: isWithin ? after.slice(addresses.length) : undefined }
    const titles = await this.#options.memory.of(tenant).listTitles(agentId, range)
    return titles.map(({ id, title }) => ({
      uri: addresses + id,
      name: `${agentId}: ${title}`,
      description: `A conversation with ${agentId}.`,
      mimeType: JSON_TYPE,
    }))
  }
}

/** A module that saves a conversation uses it and the answer; a window or a summary only uses the conversation. */
const KEEPS_CONVERSATIONS = [ConversationHistory, Response]

function tooLongResource(uri: string): JsonRpcError {
  return new JsonRpcError(INTERNAL_ERROR, `Resource is too long: ${uri} has more than ${maxLength()} characters`)
}

function byAddress(one: AgentInfo, other: AgentInfo): number {
  return resourceUri(one.id, 'conversations', '') < resourceUri(other.id, 'conversations', '') ? -1 : 1
}

function toView({ role, content }: Message): { role: string; content: string } {
  return { role, content }
}
