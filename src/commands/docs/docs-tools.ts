import { describeModules } from '../../module/editor-schema.ts'
import { readLibraryCatalog } from '../../module/library-catalog.ts'
import { type AddTool, requireKnown } from './add-tool.ts'
import { DocsIndex } from './docs-index.ts'

/** @param isInProject true adds the project's own modules */
export function addDocsTools(add: AddTool, isInProject: boolean): void {
  const docs = new DocsIndex()
  add('search_docs', 'Finds sections of the docs of agent-host by words', ['query'], ({ query = '' }) =>
    docs.search(query),
  )
  add(
    'read_docs',
    'Reads a page (keys.md) or section (keys.md#tenants) of the docs of agent-host. Without one, lists the pages',
    ['page'],
    ({ page }) => (page === undefined ? docs.list() : docs.read(page)),
  )
  add(
    'read_module',
    'Reads the config schema of a module (orchestrator/tool-loop). Without one, lists the modules',
    ['module'],
    ({ module }) => readModule(module, isInProject),
  )
}

async function readModule(name: string | undefined, isInProject: boolean): Promise<string> {
  const modules = isInProject ? await describeModules(process.cwd()) : await readLibraryCatalog()
  if (name === undefined) return modules.map(({ reference, description }) => `${reference}  ${description}`).join('\n')
  const known = new Map(modules.map((module) => [module.reference, module]))
  return JSON.stringify(requireKnown(known, name, 'module'), null, 1)
}
