// The documentation site builds without a dead link, and every shell block of the pages runs.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'
import { freePort } from '../support/free-port.ts'
import { makeProject } from '../support/temp-project.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const DOCS = join(ROOT, 'docs')
const PAGES = [
  'README.md',
  ...readdirSync(DOCS)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

/** Shell blocks, but for those that say what they need: a key, a clone, a collector, the id of something. */
function shellBlocksOf(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, code]) => code as string)
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

  async run(block: string): Promise<void> {
    const own = block
      .replaceAll(/127\.0\.0\.1:(9001|8000)/g, `127.0.0.1:${this.#port}`)
      .replaceAll(/--port \d+/g, `--port ${this.#port}`)
    const server = /^(\w+=\S+ )*agent-host (dev|serve)\b[\s\S]*/m.exec(own)
    const script = server ? own.slice(0, server.index) : own
    if (script.includes('curl') && !this.#server) await this.#start('agent-host dev')
    await this.#runToEnd(script)
    if (server) await this.#start(server[0])
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

describe('docs', () => {
  for (const page of PAGES.filter((page) => shellBlocksOf(page).length > 0)) {
    it(`${page}: its shell blocks run`, async () => {
      const { dir } = await makeProject()
      const bin = join(dir, 'bin')
      await mkdir(bin)
      await symlink(join(ROOT, 'bin/run.js'), join(bin, 'agent-host'))
      await chmod(join(ROOT, 'bin/run.js'), 0o755)
      const startsFresh = shellBlocksOf(page).some((block) => block.includes('agent-host init'))
      if (!startsFresh) await execa(join(bin, 'agent-host'), ['init', join(dir, 'project'), '--yes'])
      const reader = new Reader(startsFresh ? dir : join(dir, 'project'), bin, await freePort())
      try {
        for (const block of shellBlocksOf(page)) await reader.run(block)
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
