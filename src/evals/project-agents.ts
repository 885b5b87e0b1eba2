import { relative, resolve } from 'node:path'
import { readYaml } from '../definition/yaml-source.ts'
import { HostError } from '../errors.ts'
import { getOrAdd } from '../get-or-add.ts'
import { listAgentFiles } from '../host/agent-folder/list-agent-files.ts'
import { readAgentText, readClaim } from '../host/agent-folder/read-agent-file.ts'
import { type Fields, fieldsOf } from '../json.ts'
import type { VariantChange } from '../wire/variant.ts'
import { inlineFile } from '../wiring/inline-files.ts'
import { getAt } from '../wiring/variables.ts'

/** Text of an agent file. */
export interface AgentSource {
  readonly source: string
  /** Relative to the project. */
  readonly file: string
}

/** The agents of a project by their files: nothing of them is loaded. */
export class ProjectAgents {
  readonly #projectDir: string
  readonly #sources: ReadonlyMap<string, AgentSource>
  /** Their files as values, by their texts. */
  readonly #files = new Map<string, Fields>()
  /** Of the files that cannot be read. */
  readonly #problems: readonly string[]

  private constructor(projectDir: string, sources: ReadonlyMap<string, AgentSource>, problems: readonly string[]) {
    this.#projectDir = projectDir
    this.#sources = sources
    this.#problems = problems
  }

  /** @throws HostError `PROJECT_INVALID` when the folder is not there or cannot be read */
  static async read(projectDir: string, agentDir: string): Promise<ProjectAgents> {
    const sources = new Map<string, AgentSource>()
    const problems: string[] = []
    for (const path of await listAgentFiles(resolve(projectDir, agentDir))) {
      const file = relative(projectDir, path)
      const text = await readAgentText(path)
      if (!text) continue
      const claim = readClaim(file, text)
      const id = claim.claimedId
      if (id !== undefined && !sources.has(id)) sources.set(id, { source: text.text, file })
      for (const { line, message } of claim.problems)
        problems.push(`${file}${line === undefined ? '' : `:${line}`}: ${message}`)
    }
    return new ProjectAgents(projectDir, sources, problems)
  }

  get ids(): string[] {
    return [...this.#sources.keys()]
  }

  /** Value of a module's config as the file of an agent, or the file that it names, has it; undefined without one. @param name as {@link ProjectAgents.get} takes it */
  async valueOf(name: string, { module, path }: Pick<VariantChange, 'module' | 'path'>): Promise<unknown> {
    const { source = '' } = this.#find(name) ?? {}
    const file = getOrAdd(this.#files, source, () => fieldsOf(readYaml(source).value))
    const entry = [file.modules].flat().find((each) => fieldsOf(each).id === module)
    return inlineFile(getAt(fieldsOf(entry).config, path), this.#projectDir)
  }

  /**
   * @param name `<agent>` or `<agent>/<entry point>`
   * @throws HostError `AGENT_NOT_FOUND` with the agents that there are, and what is wrong with files
   */
  get(name: string): AgentSource {
    const found = this.#find(name)
    if (found) return found
    const known = this.ids.length > 0 ? ` Agents: ${this.ids.join(', ')}.` : ''
    throw new HostError('AGENT_NOT_FOUND', [`There is no agent '${name}'.${known}`, ...this.#problems].join('\n'))
  }

  #find(name: string): AgentSource | undefined {
    return this.#sources.get(name) ?? this.#sources.get(name.replace(/\/[^/]*$/, ''))
  }
}
