import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { VERSION } from '../../version.ts'
import { listFiles } from '../list-files.ts'
import type { PlannedFile } from '../write-files.ts'
import { ownDependency } from './own-dependency.ts'
import { PROVIDERS } from './providers.ts'
import { TEMPLATES, type TemplateName } from './templates.ts'

export interface ProjectChoices {
  readonly name: string
  /** One of {@link PROVIDERS}, or `offline`. */
  readonly llm: string
  /** Key of the provider, or its address where it has no key. */
  readonly apiKey?: string | undefined
  /** Default: `minimal`. */
  readonly template?: TemplateName
  /** Interpreter version for tools in Python, `3.12`. */
  readonly python?: string | undefined
  /** Yarn gets the settings that it needs. */
  readonly packageManager?: string | undefined
  /** Dependency of the project on agent-host: a version range, a tarball or a folder. Default: this copy of it. */
  readonly dependency?: string | undefined
}

// The same place from src/project/create/ and from dist/project/create/.
const FOLDER = fileURLToPath(new URL('../../../templates/', import.meta.url))

/** npm leaves these out of packages, or reads them as its own: the template has them without the dot. */
const DOTTED: Readonly<Record<string, string>> = { env: '.env', gitignore: '.gitignore', vscode: '.vscode' }

const DEFAULT_TEMPLATE: TemplateName = 'minimal'

/** Every file of a new project, in alphabetical order. */
export async function planProject(choices: ProjectChoices): Promise<PlannedFile[]> {
  const { layers } = TEMPLATES[choices.template ?? DEFAULT_TEMPLATE]
  const texts = new Map((await Promise.all(layers.map(readLayer))).flat())
  for (const [path, text] of additions(choices)) texts.set(path, text)
  const values = placeholderValues(choices, texts.get('agents/example.yml') ?? '')
  return [...texts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, text]) =>
      path === '.env'
        ? { path, content: text + environmentOf(choices.llm, choices.apiKey), mode: 0o600 }
        : { path, content: fillIn(text, values) },
    )
}

async function readLayer(name: string): Promise<[path: string, text: string][]> {
  const folder = join(FOLDER, name)
  const files = await listFiles(folder)
  return Promise.all(files.map(async (file) => [dotted(file), await readFile(join(folder, file), 'utf8')]))
}

function dotted(path: string): string {
  const [first = '', ...rest] = path.split('/')
  return [DOTTED[first] ?? first, ...rest].join('/')
}

type NewFile = [path: string, text: string]

/** Plug'n'Play hides packages from everything but Yarn's own loader; an empty lock file makes the folder a project. */
const YARN_FILES: NewFile[] = [
  ['.yarnrc.yml', 'nodeLinker: node-modules\n'],
  ['yarn.lock', ''],
]

function additions({ python, packageManager }: ProjectChoices): NewFile[] {
  const version: NewFile[] = python ? [['.python-version', `${python}\n`]] : []
  return [...version, ...(packageManager === 'yarn' ? YARN_FILES : [])]
}

/** Values of the placeholders in templates. */
function placeholderValues({ name, template, dependency = ownDependency() }: ProjectChoices, agent: string) {
  const { note } = TEMPLATES[template ?? DEFAULT_TEMPLATE]
  const { examples }: { examples: readonly string[] } = parse(agent)
  return {
    PROJECT_NAME: packageName(name),
    QUESTION: examples[0] ?? '',
    TEMPLATE_NOTE: note === '' ? '' : `\n${note}\n`,
    AGENT_HOST_DEPENDENCY: JSON.stringify(dependency).slice(1, -1),
    DEPENDENCY_NOTE: /^[\^~\d]/.test(dependency) ? '' : `\n${DEPENDENCY_NOTE}`,
  }
}

const DEPENDENCY_NOTE = `The project depends on a copy of agent-host on this machine. Once you install agent-host from a registry, write
\`"agent-host": "^${VERSION}"\` in \`package.json\`.
`

function fillIn(text: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce((filled, [name, value]) => filled.replaceAll(name, () => value), text)
}

/** A line for each provider, the chosen one first; without its key it is a comment as the others are. */
function environmentOf(llm: string, apiKey: string | undefined): string {
  const chosenFirst = PROVIDERS.toSorted((one, other) => Number(other.name === llm) - Number(one.name === llm))
  const entries = chosenFirst.map(({ name, title, variable, example }) => {
    const line = apiKey && name === llm ? `${variable}=${quote(apiKey)}` : `# ${variable}=${example}`
    return `\n# ${title}\n${line}\n`
  })
  return entries.join('')
}

/** As `process.loadEnvFile` reads it back. */
function quote(value: string): string {
  if (/^[\w.:/+=@-]*$/.test(value)) return value
  const mark = ["'", '"', '`'].find((each) => !value.includes(each)) ?? "'"
  return `${mark}${value}${mark}`
}

/** Returns the name in a form that npm accepts. */
function packageName(name: string): string {
  const plain = basename(name)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
  return plain === '' ? 'my-agents' : plain
}
