import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'
import fsExtra from 'fs-extra'
import { removeFolder } from './temp-project.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const quiet = { env: { npm_config_loglevel: 'error', npm_config_fund: 'false', npm_config_audit: 'false' } }

/** The package as npm packs it, installed in a folder that holds nothing else. After `npm run build`. */
export class InstalledPackage implements AsyncDisposable {
  readonly tarball: string
  readonly files: readonly string[]
  readonly dir: string
  readonly command: string
  readonly #folder: string

  private constructor(folder: string, tarball: string, files: readonly string[]) {
    this.#folder = folder
    this.tarball = tarball
    this.files = files
    this.dir = join(folder, 'user')
    this.command = join(this.dir, 'node_modules/.bin/agent-host')
  }

  static async create(): Promise<InstalledPackage> {
    const folder = await mkdtemp(join(tmpdir(), 'agent-host-pack-'))
    const { stdout } = await execa('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: ROOT,
      ...quiet,
    })
    const [packed] = JSON.parse(stdout.slice(stdout.indexOf('[')))
    const files = packed.files.map(({ path }: { path: string }) => path)
    const created = new InstalledPackage(folder, join(folder, packed.filename), files)
    await created.#install()
    return created
  }

  async #install(): Promise<void> {
    const { dir, tarball } = this
    await mkdir(dir)
    await writeFile(join(dir, 'package.json'), '{ "private": true }')
    const env = { ...quiet.env, npm_config_loglevel: 'warn' }
    const { all } = await execa('npm', ['install', tarball], { cwd: dir, all: true, env })
    expect(all).not.to.match(/warn/)
    await fsExtra.ensureSymlink(join(ROOT, 'node_modules/@types'), join(dir, 'node_modules/@types'))
  }

  /** Ejects each module into a project of its own, checks its agent, and type-checks them all. */
  async ejectEachAlone(references: readonly string[]): ReturnType<typeof checkTypes> {
    const all = join(this.dir, 'each')
    await execa(this.command, ['init', 'each', '--yes'], { cwd: this.dir })
    const left = [...references]
    const takeTurns = async () => {
      for (let reference = left.shift(); reference; reference = left.shift()) await this.#ejectAlone(reference, all)
    }
    await Promise.all([takeTurns(), takeTurns(), takeTurns()])
    return checkTypes(all)
  }

  async #ejectAlone(reference: string, all: string): Promise<void> {
    const { command, dir } = this
    const project = join(all, 'modules', reference.replace('/', '.'))
    await fsExtra.copy(join(all, 'tools'), join(project, 'tools'))
    await writeAgent(project, reference)
    await execa(command, ['eject', '-m', reference, '-d', project], { cwd: dir })
    const { agents, problems } = await check(command, project)
    expect(problems, reference).to.deep.equal([])
    expect(agents[0]?.modules.find(({ module }) => module === reference)?.source).to.equal('ejected')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await removeFolder(this.#folder)
  }
}

const LOOP = '  - { id: loop, module: orchestrator/tool-loop }\n'
const OFFLINE = '  - { id: llm, module: llm/offline }\n'
const MEMORY =
  '  - { id: embedder, module: embedder/local }\n  - { id: index, module: memory/exact-index }\n' +
  '  - { id: memory, module: memory/vector-memory }\n  - { id: tools, module: tools/memory }\n'

/** A handler over two others. */
function chained(reference: string, more: string): string {
  const handlers =
    '  - { id: one, module: echo }\n  - { id: two, module: echo }\n  - { id: stage, module: orchestrator/stage }\n'
  const links = `exchange:\n  - { module: it, protocol: TextMessageHandler, provider: [one, two] }\n  - { module: __entry__, protocol: TextMessageHandler, provider: it }\n`
  return `${handlers}  - { id: it, module: ${reference}${more} }\n${OFFLINE}${links}`
}

/** A model over others. */
function wrapping(reference: string, provider: string, more = ''): string {
  const other = '  - { id: other, module: llm/mock, config: { replies: [{ text: hi }] } }\n'
  const links = `exchange:\n  - { module: it, protocol: LLM, provider: ${provider} }\n  - { module: loop, protocol: LLM, provider: it }\n`
  return `  - { id: it, module: ${reference}${more} }\n${OFFLINE}${other}${LOOP}${links}`
}

/** Agents that use a module, by its reference. */
export const AGENTS: Readonly<Record<string, string>> = {
  'chunker/token': `${MEMORY}  - { id: it, module: chunker/token }\n${OFFLINE}${LOOP}`,
  'embedder/local': `${MEMORY}${OFFLINE}${LOOP}`,
  'embedder/openai': `${MEMORY.replace('embedder/local', 'embedder/openai')}${OFFLINE}${LOOP}`,
  'memory/exact-index': `${MEMORY}${OFFLINE}${LOOP}`,
  'memory/vector-memory': `${MEMORY}${OFFLINE}${LOOP}`,
  'tools/memory': `${MEMORY}${OFFLINE}${LOOP}`,
  'conversation/windowed': `  - { id: it, module: conversation/windowed }\n${OFFLINE}${LOOP}`,
  'conversation/summarizing': `  - { id: it, module: conversation/summarizing }\n${OFFLINE}${LOOP}`,
  'conversation/persistent': `  - { id: it, module: conversation/persistent }\n${OFFLINE}${LOOP}`,
  'orchestrator/react': `${OFFLINE}  - { id: it, module: orchestrator/react }\n`,
  'orchestrator/router': chained(
    'orchestrator/router',
    ', config: { handlers: [{ name: one, description: x }, { name: two, description: y }] }',
  ),
  'orchestrator/pipeline': chained('orchestrator/pipeline', ''),
  'orchestrator/stage': chained('orchestrator/pipeline', ''),
  'conversation/history': `  - { id: it, module: conversation/history }\n${OFFLINE}${LOOP}`,
  echo: '  - { id: it, module: echo }\n',
  'evals/judge': `${OFFLINE}  - { id: it, module: evals/judge }\n`,
  'guard/input': `  - { id: it, module: guard/input, config: { patterns: [x] } }\n${OFFLINE}${LOOP}`,
  'guard/output': `  - { id: it, module: guard/output, config: { judge: No rhymes. } }\n${OFFLINE}${LOOP}`,
  // Their packages are not there: they are made when a run needs them, and not before.
  'llm/anthropic': `  - { id: it, module: llm/anthropic, scope: instance, config: { model: m } }\n${LOOP}`,
  'llm/google': `  - { id: it, module: llm/google, scope: instance, config: { model: m } }\n${LOOP}`,
  'llm/bedrock': `  - { id: it, module: llm/bedrock, scope: instance, config: { model: m, region: us-west-2 } }\n${LOOP}`,
  'llm/openai': `  - { id: it, module: llm/openai, config: { model: m } }\n${LOOP}`,
  'llm/ollama': `  - { id: it, module: llm/ollama, config: { model: m } }\n${LOOP}`,
  'llm/fallback': wrapping('llm/fallback', '[llm, other]'),
  'llm/combinator': wrapping('llm/combinator', '[llm, other]'),
  'llm/auto': `  - { id: it, module: llm/auto }\n${LOOP}`,
  'llm/mock': `  - { id: it, module: llm/mock, scope: agent, config: { replies: [{ text: hi }] } }\n${LOOP}`,
  'llm/offline': `  - { id: it, module: llm/offline }\n${LOOP}`,
  'llm/openai-compatible': `  - { id: it, module: llm/openai-compatible, scope: agent, config: { base_url: 'http://127.0.0.1:1/v1', model: m } }\n${LOOP}`,
  'orchestrator/tool-loop': `${OFFLINE}  - { id: it, module: orchestrator/tool-loop }\n`,
  'response/collector': `  - { id: it, module: response/collector }\n${OFFLINE}${LOOP}`,
  'tools/agents': `  - { id: it, module: tools/agents, config: { agents: ['*'] } }\n${OFFLINE}${LOOP}`,
  'tools/local': `  - { id: it, module: tools/local, config: { files: [tools/example.ts, tools/example.py] } }\n${OFFLINE}${LOOP}`,
  'tools/mcp': `  - { id: it, module: tools/mcp, config: { connect_timeout: 1, servers: [{ name: none, command: node, args: ['-e', '0'] }] } }\n${OFFLINE}${LOOP}`,
  'tools/openapi': `  - { id: it, module: tools/openapi, scope: instance, config: { document: api.yaml } }\n${OFFLINE}${LOOP}`,
  'tools/skills': `  - { id: it, module: tools/skills }\n${OFFLINE}${LOOP}`,
}

export async function writeAgent(project: string, reference: string): Promise<void> {
  const id = reference.replace('/', '.')
  const skill = '---\nname: refunds\ndescription: How to refund.\n---\nRefund.\n'
  await fsExtra.outputFile(join(project, 'skills/refunds/SKILL.md'), skill)
  await fsExtra.outputFile(join(project, `agents/${id}.yml`), `id: ${id}\nmodules:\n${AGENTS[reference]}`)
}

interface Checked {
  readonly agents: readonly { modules: readonly { module: string; source: string }[] }[]
  readonly problems: readonly unknown[]
}

export async function check(command: string, project: string): Promise<Checked> {
  const { stdout } = await execa(command, ['check', '--json'], { cwd: project, reject: false })
  return JSON.parse(stdout)
}

/** How the compiler ends with the sources of a project, and what it says. */
export async function checkTypes(project: string): Promise<[exitCode: number | undefined, said: string]> {
  const { stdout, exitCode } = await execa(
    process.execPath,
    // One checker: each of several would check the types of the packages again.
    [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', project, '--checkers', '1'],
    { reject: false },
  )
  return [exitCode, stdout]
}
