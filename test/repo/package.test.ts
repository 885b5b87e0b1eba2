import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'
import fsExtra from 'fs-extra'
import { publint } from 'publint'
import { listLibrary } from '../../src/module/load-module.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const quiet = { env: { npm_config_loglevel: 'error', npm_config_fund: 'false', npm_config_audit: 'false' } }

describe('the package', () => {
  let tarball: string
  let files: string[]

  before(async function () {
    this.timeout(120_000)
    const folder = await mkdtemp(join(tmpdir(), 'agent-host-pack-'))
    const { stdout } = await execa('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: ROOT,
      ...quiet,
    })
    const [packed] = JSON.parse(stdout.slice(stdout.indexOf('[')))
    tarball = join(folder, packed.filename)
    files = packed.files.map(({ path }: { path: string }) => path)
  })

  after(() => rm(dirname(tarball), { recursive: true, force: true }))

  let installed: Promise<{ dir: string; command: string }> | undefined

  /** A folder in which nothing but the package is installed, once for all. */
  function install(): Promise<{ dir: string; command: string }> {
    installed ??= installOnce(join(dirname(tarball), 'user'))
    return installed
  }

  async function installOnce(dir: string) {
    await mkdir(dir)
    await execa('npm', ['init', '-y'], { cwd: dir, ...quiet })
    const { all } = await execa('npm', ['install', tarball], { cwd: dir, all: true, ...quiet })
    expect(all).not.to.match(/EBADENGINE|deprecated/)
    await fsExtra.ensureSymlink(join(ROOT, 'node_modules/@types'), join(dir, 'node_modules/@types'))
    return { dir, command: join(dir, 'node_modules/.bin/agent-host') }
  }

  it('holds what users need, and nothing else', () => {
    const kinds = files.map((file) => file.replace(/^(dist|modules|templates)\/.*/, '$1'))
    expect([...new Set(kinds)].sort()).to.deep.equal([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'bin/run.js',
      'dist',
      'modules',
      'oclif.manifest.json',
      'package.json',
      'templates',
    ])
    expect(files).to.include.members([
      'dist/index.js',
      'dist/index.d.ts',
      'dist/modules/tools/lib/python-worker.py',
      'modules/tools/lib/python-worker.py',
      'modules/llm/auto.ts',
      'templates/project/gitignore',
      'templates/project/vscode/extensions.json',
      'templates/project/env',
    ])
    expect(files.filter((file) => /\.tgz$|tsconfig\.build|__pycache__/.test(file))).to.deep.equal([])
  })

  it('resolves in every way that its package.json says: publint finds nothing', async () => {
    const { buffer } = new Uint8Array(await readFile(tarball))
    const { messages } = await publint({ pack: { tarball: buffer } })
    expect(messages).to.deep.equal([])
  })

  it('has every module in a form that can be ejected: type-checked and loaded from the project, all at once', async function () {
    this.timeout(120_000)
    const references = listLibrary()
    expect(Object.keys(AGENTS).sort()).to.deep.equal(references)
    const { dir, command } = await install()
    const project = join(dir, 'all')
    await execa(command, ['init', project, '--yes'], { cwd: dir })
    await rm(join(project, 'agents/example.yml'))
    await Promise.all(references.map((reference) => writeAgent(project, reference)))
    const { stderr } = await execa(command, ['eject', '-m', ...references], { cwd: project })
    expect(stderr).to.equal('')
    expect(await checkTypes(project)).to.deep.equal([0, ''])
    const { agents, problems } = await check(command, project)
    expect(problems).to.deep.equal([])
    expect(agents).to.have.length(references.length)
    expect(agents.flatMap(({ modules }) => modules).filter(({ source }) => source !== 'ejected')).to.deep.equal([])
  })

  it('has with each module everything that it needs when it is ejected alone', async function () {
    this.timeout(120_000)
    const { dir, command } = await install()
    await execa(command, ['init', 'each', '--yes'], { cwd: dir })
    const ejectAlone = async (reference: string) => {
      const project = join(dir, 'each/modules', reference.replace('/', '.'))
      await fsExtra.copy(join(dir, 'each/tools'), join(project, 'tools'))
      await writeAgent(project, reference)
      await execa(command, ['eject', '-m', reference, '-d', project], { cwd: dir })
      const { agents, problems } = await check(command, project)
      expect(problems, reference).to.deep.equal([])
      expect(agents[0]?.modules.find(({ module }) => module === reference)?.source).to.equal('ejected')
    }
    const references = listLibrary()
    const takeTurns = async () => {
      for (let reference = references.shift(); reference; reference = references.shift()) await ejectAlone(reference)
    }
    await Promise.all([takeTurns(), takeTurns(), takeTurns()])
    expect(await checkTypes(join(dir, 'each'))).to.deep.equal([0, ''])
  })

  it('does its main job from an empty folder: makes a project, tests it, checks its types, and answers', async function () {
    this.timeout(180_000)
    const { dir, command } = await install()
    await execa(command, ['init', 'myproj', '--yes'], { cwd: dir })
    const project = join(dir, 'myproj')
    const { stdout } = await execa(command, ['test'], { cwd: project })
    expect(stdout).to.match(/pass 2/)
    expect(await checkTypes(project)).to.deep.equal([0, ''])
    const server = spawn(command, ['dev', '--port', '0'], { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      const url = await readAddress(server.stdout)
      const response = await fetch(`${url}/compat/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'example', messages: [{ role: 'user', content: 'What time is it in Tokyo?' }] }),
      })
      expect(await response.text()).to.match(/currentTime says: .*GMT\+9/)
    } finally {
      server.kill('SIGTERM')
    }
    const code = await new Promise((resolve) => server.once('exit', resolve))
    expect(code).to.equal(0)
  })
})

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
const AGENTS: Readonly<Record<string, string>> = {
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
  // Their packages are not there: they are made when a run needs them, and not before.
  'llm/anthropic': `  - { id: it, module: llm/anthropic, scope: instance, config: { model: m } }\n${LOOP}`,
  'llm/google': `  - { id: it, module: llm/google, scope: instance, config: { model: m } }\n${LOOP}`,
  'llm/bedrock': `  - { id: it, module: llm/bedrock, scope: instance, config: { model: m, region: us-west-2 } }\n${LOOP}`,
  'llm/openai': `  - { id: it, module: llm/openai, config: { model: m } }\n${LOOP}`,
  'llm/ollama': `  - { id: it, module: llm/ollama, config: { model: m } }\n${LOOP}`,
  'llm/fallback': wrapping('llm/fallback', '[llm, other]'),
  'llm/combinator': wrapping('llm/combinator', '[llm, other]'),
  'llm/cassette': wrapping('llm/cassette', 'llm', ', config: { file: tape.jsonl }'),
  'llm/auto': `  - { id: it, module: llm/auto }\n${LOOP}`,
  'llm/mock': `  - { id: it, module: llm/mock, scope: agent, config: { replies: [{ text: hi }] } }\n${LOOP}`,
  'llm/offline': `  - { id: it, module: llm/offline }\n${LOOP}`,
  'llm/openai-compatible': `  - { id: it, module: llm/openai-compatible, scope: agent, config: { base_url: 'http://127.0.0.1:1/v1', model: m } }\n${LOOP}`,
  'orchestrator/tool-loop': `${OFFLINE}  - { id: it, module: orchestrator/tool-loop }\n`,
  'response/collector': `  - { id: it, module: response/collector }\n${OFFLINE}${LOOP}`,
  'tools/local': `  - { id: it, module: tools/local, config: { files: [tools/example.ts, tools/example.py] } }\n${OFFLINE}${LOOP}`,
  'tools/mcp': `  - { id: it, module: tools/mcp, config: { connect_timeout: 1, servers: [{ name: none, command: node, args: ['-e', '0'] }] } }\n${OFFLINE}${LOOP}`,
}

async function writeAgent(project: string, reference: string): Promise<void> {
  const id = reference.replace('/', '.')
  await fsExtra.outputFile(join(project, `agents/${id}.yml`), `id: ${id}\nmodules:\n${AGENTS[reference]}`)
}

interface Checked {
  readonly agents: readonly { modules: readonly { module: string; source: string }[] }[]
  readonly problems: readonly unknown[]
}

async function check(command: string, project: string): Promise<Checked> {
  const { stdout } = await execa(command, ['check', '--json'], { cwd: project, reject: false })
  return JSON.parse(stdout)
}

/** How the compiler ends with the sources of a project, and what it says. */
async function checkTypes(project: string): Promise<[exitCode: number | undefined, said: string]> {
  const { stdout, exitCode } = await execa(
    process.execPath,
    [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', project],
    { reject: false },
  )
  return [exitCode, stdout]
}

function readAddress(output: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    output.on('data', (chunk) => {
      text += chunk
      const address = /ready at (http:\S+)/.exec(text)?.[1]
      if (address) resolve(address)
    })
    output.on('end', () => reject(new Error(`The server stopped: ${text}`)))
  })
}
