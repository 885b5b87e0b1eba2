import { join, relative } from 'node:path'
import { readDefinition } from '../../definition/definition.ts'
import { listAgentFiles } from '../../host/agent-folder/list-agent-files.ts'
import { listLibrary } from '../../module/load-module.ts'
import { readItem } from '../../project/eject/library-files.ts'
import { readRegularFile } from '../../read-regular-file.ts'

/** Agents of a project that a module of the library matters to. */
export interface ModuleUsers {
  readonly reference: string
  /** Ids of the agents that name it. */
  readonly agents: readonly string[]
  /** Modules of the library that agents name, and that have it built in: an ejected copy is not theirs. */
  readonly within: readonly string[]
}

/**
 * Finds which agents name modules of the library. Agent files that cannot be read have no say.
 *
 * @param folder of the project, absolute
 */
export async function usersOf(folder: string, references: readonly string[]): Promise<ModuleUsers[]> {
  const named = await readReferences(folder)
  const library = new Set(listLibrary())
  const used = [...new Set(named.flatMap(({ modules }) => modules))].filter((module) => library.has(module))
  const contents = await Promise.all(used.map(async (module) => [module, await readItem(module)] as const))
  return references.map((reference) => ({
    reference,
    agents: named.filter(({ modules }) => modules.includes(reference)).map(({ id }) => id),
    within: contents
      .filter(([module, files]) => module !== reference && files.has(`${reference}.ts`))
      .map(([module]) => module),
  }))
}

async function readReferences(folder: string): Promise<{ id: string; modules: readonly string[] }[]> {
  const paths = await listAgentFiles(join(folder, 'agents')).catch(() => [])
  const agents = await Promise.all(
    paths.map(async (path) => {
      try {
        const { definition } = readDefinition((await readRegularFile(path)).toString(), relative(folder, path))
        return [{ id: definition.id, modules: definition.modules.map(({ module }) => module.replace(/#.*$/, '')) }]
      } catch {
        return []
      }
    }),
  )
  return agents.flat()
}
