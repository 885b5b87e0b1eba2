// The examples of docs/clients answer with real clients: Python's from PyPI, `llm`, and a page with useChat in a browser.
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'
import { chromiumPath, launchBrowser, NO_BROWSER } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { killRunning, runCli, startCli } from '../support/run-cli.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const ADDRESS = 'http://127.0.0.1:9001'

/** A page, the package of its Python example, and what the example prints. */
const PYTHON: readonly (readonly [page: string, requirement: string, output: RegExp])[] = [
  ['openai', 'openai', /GMT\+9.*GMT-5/s],
  ['litellm', 'litellm', /GMT\+9/],
  ['langchain', 'langchain-openai', /GMT\+9.*It rains in Lima/s],
  ['pydantic-ai', 'pydantic-ai-slim[openai]', /It rains in Lima/],
  ['openai-agents', 'openai-agents', /It rains in Lima/],
  ['mcp', 'mcp', /GMT\+9/],
]

describe('clients', () => {
  let dir: string
  let url: string

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'agent-host-clients-'))
    const project = join(dir, 'project')
    await runCli(['init', project, '--yes'], { cwd: dir, env: { PATH: process.env.PATH ?? '' } })
    const server = startCli(['dev', '--port', '0'], { cwd: project, env: { PATH: process.env.PATH ?? '' } })
    url = (await server.printed(/ready at (http:\S+)\n/))[1] as string
  })
  after(async () => {
    await killRunning()
    await rm(dir, { recursive: true, force: true })
  })

  for (const [page, requirement, output] of PYTHON) {
    it(`${page}: the example in Python answers`, async function () {
      const bin = await install(requirement)
      if (!bin) return this.skip()
      await writeFile(join(dir, `${page}-example.py`), await readBlock(page, 'python'))
      const { stdout } = await execa(join(bin, 'python'), [`${page}-example.py`], { cwd: dir })
      expect(stdout).to.match(output)
    }).timeout(300_000)
  }

  it('llm: the command answers', async function () {
    const bin = await install('llm')
    if (!bin) return this.skip()
    await writeFile(join(dir, 'extra-openai-models.yaml'), await readBlock('llm', 'yaml'))
    const args = ['-m', 'example', '--key', 'none', 'What time is it in Tokyo?']
    // It reads its standard input to the end unless that is a terminal.
    const { stdout } = await execa(join(bin, 'llm'), args, { env: { LLM_USER_PATH: dir }, stdin: 'ignore' })
    expect(stdout).to.match(/GMT\+9/)
  }).timeout(300_000)

  it('ai-sdk: the page of the example runs its own tool', async function () {
    if (!chromiumPath) {
      console.log(`skipped: ${NO_BROWSER}`)
      return this.skip()
    }
    const example = join(dir, 'ai-sdk-chat')
    await cp(join(ROOT, 'examples/ai-sdk-chat'), example, { recursive: true })
    await execa('npm', ['install', '--no-fund', '--no-audit'], { cwd: example })
    const port = String(await freePort())
    const server = execa('node', ['server.js'], { cwd: example, env: { AGENT_HOST_URL: `${url}/v1`, PORT: port } })
    const browser = await launchBrowser()
    try {
      await new Promise((resolve) => server.stdout.once('data', resolve))
      const page = await browser.newPage({ timezoneId: 'America/Lima' })
      await page.goto(`http://127.0.0.1:${port}`)
      await page.getByLabel('Message').fill('What is my location?')
      await page.getByRole('button').click()
      await page.getByText('location says: America/Lima').waitFor({ timeout: 30_000 })
    } finally {
      await browser.close()
      server.kill()
      await server.catch(() => {})
    }
  }).timeout(300_000)

  /** Installs a package into an environment of its own. @returns its folder of commands; undefined when it cannot be installed */
  async function install(requirement: string): Promise<string | undefined> {
    const environment = join(dir, requirement.replace(/\W/g, '-'))
    await execa('python3', ['-m', 'venv', environment])
    const bin = join(environment, 'bin')
    const { exitCode, stderr } = await execa(join(bin, 'pip'), ['install', '--quiet', requirement], { reject: false })
    if (exitCode === 0) return bin
    console.log(`skipped: ${requirement} cannot be installed: ${stderr.trim().split('\n').at(-1)}`)
    return undefined
  }

  /** The first block of a page in a language, with the address of the server. */
  async function readBlock(page: string, language: string): Promise<string> {
    const text = await readFile(join(ROOT, `docs/clients/${page}.md`), 'utf8')
    const [, block] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(text) ?? []
    return (block as string).replaceAll(ADDRESS, url)
  }
})
