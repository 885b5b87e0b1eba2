import { readdir, readFile } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PROVIDERS } from './providers.ts'
import type { PlannedFile } from './write-files.ts'

export interface ProjectChoices {
  readonly name: string
  /** Of {@link PROVIDERS}, or `offline`. */
  readonly llm: string
  /** Interpreter version for tools in Python, `3.12`. */
  readonly python?: string | undefined
}

// The same place from src/project/ and from dist/project/.
const TEMPLATE = fileURLToPath(new URL('../../templates/project/', import.meta.url))

/** npm leaves these out of packages, or reads them as its own: the template has them without the dot. */
const DOTTED = ['env', 'gitignore']

/** Every file of a new project. */
export async function planProject(choices: ProjectChoices): Promise<PlannedFile[]> {
  const entries = await readdir(TEMPLATE, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const files = await Promise.all(paths.sort().map((path) => planFile(path, choices)))
  return choices.python ? [...files, { path: '.python-version', content: `${choices.python}\n` }] : files
}

async function planFile(path: string, choices: ProjectChoices): Promise<PlannedFile> {
  const inside = relative(TEMPLATE, path).split(sep).join('/')
  const text = (await readFile(path, 'utf8')).replaceAll('PROJECT_NAME', packageName(choices.name))
  if (!DOTTED.includes(inside)) return { path: inside, content: text }
  if (inside !== 'env') return { path: `.${inside}`, content: text }
  return { path: '.env', content: text + environmentOf(choices.llm), mode: 0o600 }
}

/** A commented line for each provider; the chosen one stands first and waits for its key. */
function environmentOf(llm: string): string {
  const chosen = PROVIDERS.filter(({ name }) => name === llm)
  const others = PROVIDERS.filter(({ name }) => name !== llm)
  return [...chosen, ...others]
    .map(({ title, variable, example }) => `\n# ${title}\n# ${variable}=${example}\n`)
    .join('')
}

/** What npm accepts as a name. */
function packageName(name: string): string {
  const plain = basename(name)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
  return plain === '' ? 'my-agents' : plain
}
