// The documentation site builds without a dead link; every shell block of the pages and every example of a client runs.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'
import { freePort } from '../support/free-port.ts'
import { makeProject } from '../support/temp-project.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const DOCS = join(ROOT, 'docs')
const pagesOf = (folder: string) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
const PAGES = ['README.md', ...pagesOf('docs'), ...pagesOf('docs/clients')]
/** Pages whose TypeScript is a client of `agent-host dev`, and what it prints. */
const CLIENTS: readonly (readonly [page: string, output: RegExp])[] = [
  ['README.md', /GMT\+9/],
  ['docs/chat.md', /It rains in Lima/],
  ['docs/websocket.md', /^$/],
  ['docs/clients/openai.md', /GMT\+9/],
  ['docs/clients/ai-sdk.md', /GMT\+9/],
  ['docs/clients/langchain.md', /GMT\+9/],
  ['docs/clients/anthropic.md', /GMT\+9/],
  ['docs/clients/ag-ui.md', /GMT\+9/],
]

/** Blocks of a language, but for those that say what they need: a key, a clone, a collector, the id of something, a client that `prove messages` installs. */
function blocksOf(page: string, language: 'sh' | 'ts'): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code]) => code as string)
}

/** Files that a page has its reader write: blocks whose first line is a comment with the path. */
function filesOf(page: string): [path: string, content: string][] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(/^```\w+\n((?:\/\/|#) ((?:agents|modules|tools)\/\S+)\n.*?)^```/gms)].map(
    ([, content = '', path = '']) => [path, content],
  )
}

/** A reader with a terminal: what runs until it is stopped goes on beside the next blocks. */
class Reader {
  readonly #port: number
  readonly #environment: NodeJS.ProcessEnv
  #folder: string
  #server: ChildProcess | undefined

  constructor(folder: string, bin: string, port: number) {
    this.#folder = folder
    this.#port = port
    const { PATH, HOME } = process.env
    this.#environment = {
      PATH: `${bin}:${PATH}`,
      HOME,
      KEY: 'secret-key',
      AGENT_HOST_PORT: String(port),
    }
  }

  /** Writes the files of a page into the project, once the reader is in one. */
  async write(files: readonly (readonly [path: string, content: string])[]): Promise<void> {
    if (!existsSync(join(this.#folder, 'agents'))) return
    for (const [path, content] of files) {
      await mkdir(dirname(join(this.#folder, path)), { recursive: true })
      await writeFile(join(this.#folder, path), content)
    }
  }

  async run(block: string): Promise<void> {
    const own = this.#atOwnPort(block)
    const server = /^(\w+=\S+ )*agent-host (dev|serve)\b[\s\S]*/m.exec(own)
    const script = server ? own.slice(0, server.index) : own
    if (script.includes('curl') && !this.#server) await this.#start('agent-host dev')
    await this.#runToEnd(script)
    if (server) await this.#start(server[0])
  }

  /** Runs a program in TypeScript beside `agent-host dev`. @returns its output */
  async runClient(code: string): Promise<string> {
    if (!this.#server) await this.#start('agent-host dev')
    await writeFile(join(this.#folder, 'client.ts'), this.#atOwnPort(code))
    const { stdout } = await execa('agent-host', ['run', 'client.ts'], {
      cwd: this.#folder,
      env: this.#environment,
      extendEnv: false,
      timeout: 30_000,
    })
    return stdout
  }

  #atOwnPort(code: string): string {
    return code
      .replaceAll(/127\.0\.0\.1:(9001|8000)/g, `127.0.0.1:${this.#port}`)
      .replaceAll(/--port \d+/g, `--port ${this.#port}`)
  }

  async #runToEnd(script: string): Promise<void> {
    const where = join(this.#folder, '.folder')
    const lines = [
      'set -e',
      'curl() { command curl --fail-with-body --silent --show-error "$@"; }',
      script,
      `pwd > ${where}`,
    ]
    const { exitCode, all } = await execa('bash', ['-c', lines.join('\n')], {
      cwd: this.#folder,
      env: this.#environment,
      extendEnv: false,
      all: true,
      reject: false,
    })
    expect(exitCode, all).to.equal(0)
    this.#folder = (await readFile(where, 'utf8')).trim()
  }

  async #start(command: string): Promise<void> {
    await this.stop()
    const child = spawn('bash', ['-c', `exec ${command}`], { cwd: this.#folder, env: this.#environment })
    this.#server = child
    await new Promise<void>((resolve, reject) => {
      let output = ''
      for (const stream of [child.stdout, child.stderr]) {
        stream?.on('data', (chunk) => {
          output += chunk
          if (/ready at http|listening at http/.test(output)) resolve()
        })
      }
      child.once('exit', () => reject(new Error(`${command} ended:\n${output}`)))
    })
  }

  async stop(): Promise<void> {
    const child = this.#server
    this.#server = undefined
    if (!child || child.exitCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await ended
  }
}

/** A reader in a new project, or, for a page that creates one, in an empty folder. */
async function makeReader(page: string): Promise<Reader> {
  const { dir } = await makeProject()
  const bin = join(dir, 'bin')
  await mkdir(bin)
  await symlink(join(ROOT, 'bin/run.js'), join(bin, 'agent-host'))
  await chmod(join(ROOT, 'bin/run.js'), 0o755)
  const startsFresh = blocksOf(page, 'sh').some((block) => block.includes('agent-host init'))
  if (!startsFresh) {
    const project = join(dir, 'project')
    await execa(join(bin, 'agent-host'), ['init', project, '--yes'])
    await mkdir(join(project, 'node_modules'), { recursive: true })
    // The packages of protocols, as they are after an install.
    await symlink(join(ROOT, 'node_modules/@agent-host'), join(project, 'node_modules/@agent-host'))
  }
  return new Reader(startsFresh ? dir : join(dir, 'project'), bin, await freePort())
}

describe('docs', () => {
  for (const page of PAGES.filter((page) => blocksOf(page, 'sh').length > 0)) {
    it(`${page}: its shell blocks run`, async () => {
      const reader = await makeReader(page)
      try {
        for (const block of blocksOf(page, 'sh')) {
          await reader.run(block)
          await reader.write(filesOf(page))
        }
      } finally {
        await reader.stop()
      }
    }).timeout(120_000)
  }

  for (const [page, output] of CLIENTS) {
    it(`${page}: its TypeScript talks to a server`, async () => {
      const reader = await makeReader(page)
      try {
        const begins = (block: string) => /\binit\b|--adapter @agent-host/.test(block)
        for (const block of blocksOf(page, 'sh').filter(begins)) await reader.run(block)
        for (const block of blocksOf(page, 'ts')) expect(await reader.runClient(block)).to.match(output)
      } finally {
        await reader.stop()
      }
    }).timeout(120_000)
  }

  it('builds the site', async () => {
    await execa('npm', ['ci', '--no-fund', '--no-audit'], { cwd: DOCS })
    await execa('npm', ['run', 'build'], { cwd: DOCS })
    expect(existsSync(join(DOCS, '.vitepress/dist/index.html'))).to.equal(true)
    const index = readFileSync(join(DOCS, '.vitepress/dist/llms.txt'), 'utf8')
    const named = [...index.matchAll(/\]\(\/(.+\.md)\)/g)].map(([, file]) =>
      join(DOCS, '.vitepress/dist', file as string),
    )
    expect(named.filter((file) => !existsSync(file))).to.deep.equal([])
  }).timeout(300_000)
})
