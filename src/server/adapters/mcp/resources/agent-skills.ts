import { isUtf8 } from 'node:buffer'
import { decodeUri } from '../../../../decode-uri.ts'
import type { AgentHost } from '../../../../host/host.ts'
import { providersOf } from '../../../../host/providers-of.ts'
import type { Run } from '../../../../protocols/run.ts'
import { type Skill, Skills } from '../../../../protocols/skills.ts'
import type { Redact } from '../../../../redaction/redact.ts'
import type { AgentInfo } from '../../../../run/agent/agent-info.ts'
import { invalidParams } from '../json-rpc.ts'
import { cutPage } from '../pages.ts'
import type { Resource, ResourceContent } from './resource.ts'

/** Extension of MCP that SEP-2640 defines. */
export const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills'

/** A skill in the list for clients (SEP-2640). */
export interface SkillEntry {
  readonly uri: string
  readonly frontmatter: Skill['frontMatter']
  readonly resources: readonly { readonly uri: string; readonly digest: string; readonly size: number }[]
}

/** Fields of every cacheable result from 2026-07-28 on (SEP-2549): files change at any time, and keys may differ. */
const UNCACHED = { ttlMs: 0, cacheScope: 'private' } as const

export interface SkillList {
  readonly skills: readonly SkillEntry[]
  readonly nextCursor?: string
}

interface SkillModule {
  readonly agentId: string
  readonly moduleId: string
}

const SKILL_FILE = 'SKILL.md'
/** `skill://<agent>/<module>/<skill>/<path of the file>` */
const URI = /^skill:\/\/([^/?#]+)\/([^/?#]+)\/([^/?#]+)\/([^?#]+)$/

/** Skills of the agents whose files say `expose: [skills]`. Listing and reading them are runs of their modules alone. */
export class AgentSkills {
  readonly #host: AgentHost
  readonly #redact: Redact

  constructor(host: AgentHost, redact: Redact) {
    this.#host = host
    this.#redact = redact
  }

  /** True when no agent exposes its skills: the server then lacks the extension. */
  get isEmpty(): boolean {
    return this.#exposing().length === 0
  }

  /** @throws JsonRpcError `INVALID_PARAMS` */
  async list(cursor: unknown, tenant: string): Promise<SkillList> {
    const found = await this.#listAll(tenant)
    const { items, nextCursor } = cutPage(found.map(toEntry), ({ uri }) => uri, cursor)
    return { skills: items, nextCursor, ...UNCACHED }
  }

  /** @throws JsonRpcError `INVALID_PARAMS` for a skill that does not exist */
  async get({ uri }: Readonly<Record<string, unknown>>, tenant: string): Promise<{ readonly skill: SkillEntry }> {
    if (typeof uri !== 'string') throw invalidParams('uri must be a string')
    const place = readUri(uri)
    const skills = this.#isExposed(place) ? await this.#listOf(place, tenant) : []
    const found = skills.map(toEntry).find((entry) => entry.uri === uri)
    if (!found) throw invalidParams(`there is no skill ${uri}`)
    return { skill: found, ...UNCACHED }
  }

  /** Each skill as a resource: its `SKILL.md`. */
  async listResources(tenant: string): Promise<Resource[]> {
    return (await this.#listAll(tenant)).map(({ place, skill: { name, description } }) => ({
      uri: skillUri(place, name, SKILL_FILE),
      name,
      description,
      mimeType: 'text/markdown',
    }))
  }

  /** Returns undefined for a URI that names no file of an exposed skill. */
  async read(uri: string, tenant: string): Promise<ResourceContent | undefined> {
    const { agentId, moduleId, name, path } = readUri(uri)
    if (!this.#isExposed({ agentId, moduleId })) return undefined
    const found = await this.#host.callModule(agentId, {
      moduleId,
      protocol: Skills,
      tenant,
      act: async (skills, run) => {
        const data = await skills.readSkillFile(name, path, run)
        const skill = skills.listSkills(run).find((each) => each.name === name)
        const file = skill?.files.find((each) => each.path === path)
        return data && file ? { data, mimeType: file.mediaType } : undefined
      },
    })
    if (!found) return undefined
    const { data, mimeType } = found
    const bytes = Buffer.from(data)
    return isUtf8(bytes)
      ? { uri, mimeType, text: this.#redact(bytes.toString()) }
      : { uri, mimeType, blob: bytes.toString('base64') }
  }

  async #listAll(tenant: string): Promise<PlacedSkill[]> {
    // Reading one that fails says why.
    const lists = this.#modules().map((place) => this.#listOf(place, tenant).catch(() => []))
    return (await Promise.all(lists)).flat()
  }

  async #listOf({ agentId, moduleId }: SkillModule, tenant: string): Promise<PlacedSkill[]> {
    const act = (skills: Skills, run: Run) => skills.listSkills(run)
    const skills = await this.#host.callModule(agentId, { moduleId, protocol: Skills, tenant, act })
    return (skills ?? []).map((skill) => ({ place: { agentId, moduleId }, skill }))
  }

  #isExposed({ agentId, moduleId }: SkillModule): boolean {
    return this.#modules().some((place) => place.agentId === agentId && place.moduleId === moduleId)
  }

  #modules(): SkillModule[] {
    return this.#exposing().flatMap(({ id: agentId }) =>
      providersOf(this.#host, agentId, Skills).map((moduleId) => ({ agentId, moduleId })),
    )
  }

  #exposing(): AgentInfo[] {
    return this.#host.list().filter(({ expose = [] }) => expose.includes('skills'))
  }
}

interface PlacedSkill {
  readonly place: SkillModule
  readonly skill: Skill
}

function toEntry({ place, skill: { name, frontMatter, files } }: PlacedSkill): SkillEntry {
  return {
    uri: skillUri(place, name, SKILL_FILE),
    frontmatter: frontMatter,
    resources: files.map(({ path, sha256, bytes }) => ({
      uri: skillUri(place, name, path),
      digest: `sha256:${sha256}`,
      size: bytes,
    })),
  }
}

function readUri(uri: string): SkillModule & { readonly name: string; readonly path: string } {
  const parts = URI.exec(uri)?.slice(1) ?? []
  const [agentId = '', moduleId = '', name = '', path = ''] = parts.map((part) => part && decodeUri(part))
  return { agentId, moduleId, name, path }
}

function skillUri({ agentId, moduleId }: SkillModule, name: string, path: string): string {
  return `skill://${[agentId, moduleId, name, ...path.split('/')].map(encodeURIComponent).join('/')}`
}
