// Clients of the Messages API answer and run their tools: Anthropic's SDKs, the AI SDK, LangChain, Claude Code, the Agent SDK; Copilot CLI and Gemini CLI do what their pages say.
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'
import { killRunning, startCli } from '../support/run-cli.ts'
import { makeSharedProject, removeFolder, type TempProject } from '../support/temp-project.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SCRIPTS = fileURLToPath(new URL('../support/clients/', import.meta.url))
const MESSAGES = '@agent-host/messages'
const ADAPTERS = [MESSAGES, 'ChatCompatApiAdapter', 'McpApiAdapter'].flatMap((name) => ['--adapter', name])
const ALIASES = ['--adapter-option', 'MessagesAdapter.aliases=claude-*=example']

const FILES = {
  'agents/example.yml': `id: example
modules:
  - { id: llm, module: caller }
  - { id: loop, module: orchestrator/tool-loop }`,
  // Makes the call that a line of the last message is, and otherwise tells results, pictures, turns and questions that it was given.
  'modules/caller.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Caller', provides: [LLM], attachments: ['image/*'], create: () => ({
  async *generate({ messages, tools = [] }) {
    const said = messages.filter(({ role }) => role !== 'system')
    const { role, content } = said.at(-1)
    const line = role === 'user' && content.split('\\n').find((each) => each.startsWith('{"call"'))
    if (line && tools.length > 0) {
      const { call, ...args } = JSON.parse(line)
      yield { type: 'tool_call', call: { id: 'call_' + messages.length, name: call, arguments: args } }
      return yield { type: 'finish', reason: 'tool_calls' }
    }
    const results = role === 'tool' ? content.match(/\\w+/g) ?? [] : []
    const pictures = said.flatMap(({ attachments = [] }) => attachments.map(({ mediaType, data }) => mediaType + ' of ' + data.length))
    const turns = said.flatMap((each) => each.role === 'user' ? each.content.match(/\\bturn \\w+|What time [\\w ]+/g) ?? [] : [])
    yield { type: 'text', text: ['got', ...results, ...pictures, ...turns].join(' ') }
    yield { type: 'finish', reason: 'stop' }
  } }) })`,
}
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR42mP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC',
  'base64',
)
const ROUND = ['got turn one', 'got found Lima']
const MORE = ['counts true', 'model example', 'model claude-*', 'true not_found_error']

describe('the Messages API', () => {
  let dir: string
  let work: string
  let project: TempProject
  let url: string

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'agent-host-messages-'))
    work = join(dir, 'work')
    await mkdir(work)
    await writeFile(join(work, 'a.txt'), 'alpha beta\n')
    await writeFile(join(work, 'p.png'), PNG)
    project = await makeSharedProject(FILES)
    await mkdir(project.path('node_modules/@agent-host'), { recursive: true })
    await symlink(join(ROOT, 'packages/messages'), project.path(`node_modules/${MESSAGES}`))
    const server = startCli(['serve', ...ADAPTERS, ...ALIASES, '--port', '0'], { cwd: project.dir })
    url = (await server.printed(/listening at (http:[^"\s]+)/))[1] as string
  })
  after(async () => {
    killRunning()
    await removeFolder(project.dir)
    await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  })

  const SCRIPTED: readonly (readonly [script: string, packages: readonly string[], lines: readonly string[]])[] = [
    ['messages-sdk.mjs', ['@anthropic-ai/sdk'], [...ROUND, ...ROUND, ...MORE]],
    ['messages-ai-sdk.mjs', ['@ai-sdk/anthropic@4', 'ai@7', 'zod@4', 'node@22'], [...ROUND, ...ROUND]],
    ['messages-langchain.mjs', ['@langchain/anthropic', '@langchain/core', 'zod@4'], [...ROUND, ...ROUND]],
  ]
  for (const [script, packages, lines] of SCRIPTED)
    it(`${packages[0]}: an answer and a round of a tool, created and streamed`, async function () {
      const home = await install(...packages)
      if (!home) return this.skip()
      await cp(join(SCRIPTS, script), join(home, script))
      const node = packages.includes('node@22') ? join(home, 'node_modules/.bin/node') : process.execPath
      const { stdout } = await execa(node, [script, url], { cwd: home, timeout: 120_000 })
      expect(stdout.split('\n')).to.deep.equal(lines)
    }).timeout(300_000)

  it('anthropic for Python: the same, and the example of its page', async function () {
    const environment = join(dir, 'python')
    await execa('python3', ['-m', 'venv', environment])
    if (!(await succeeds(join(environment, 'bin/pip'), ['install', '--quiet', 'anthropic'], dir))) return this.skip()
    const run = async (...args: string[]) => (await execa(join(environment, 'bin/python'), args, { cwd: dir })).stdout
    const answers = await run(join(SCRIPTS, 'messages.py'), url)
    expect(answers.split('\n')).to.deep.equal([...ROUND, ...ROUND, ...MORE])
    await writeFile(join(dir, 'example.py'), await readBlock('anthropic', 'python'))
    expect(await run('example.py')).to.equal('got What time is it in Tokyo')
  }).timeout(300_000)

  it('Claude Code: its own tool, a second turn, an image, and the command of its page', async function () {
    const home = await install('@anthropic-ai/claude-code@latest')
    if (!home) return this.skip()
    const claude = join(home, 'node_modules/.bin/claude')
    const ask = async (prompt: string, ...args: string[]) =>
      (await execa(claude, ['--model', 'example', ...args, '-p', prompt], settings(home))).stdout
    expect(await ask(`turn one\n${reads('a.txt')}`)).to.equal('got 1 alpha beta 2 turn one')
    expect(await ask('turn two', '--continue')).to.equal('got turn one turn two')
    expect(await ask(reads('p.png'))).to.equal(`got image/png of ${PNG.length}`)
    expect(await runBlock('claude-code', 'sh needs-claude', home, `${claude} -p "$@"`)).to.match(/^got What time/)
  }).timeout(300_000)

  it('Agent SDK: the tool of Claude Code, and a second turn', async function () {
    const home = await install('@anthropic-ai/claude-agent-sdk')
    if (!home) return this.skip()
    await cp(join(SCRIPTS, 'agent-sdk.mjs'), join(home, 'agent-sdk.mjs'))
    const script = [join(home, 'agent-sdk.mjs'), join(work, 'a.txt')]
    const { stdout } = await execa(process.execPath, script, settings(home))
    expect(stdout.split('\n')).to.deep.equal(['got 1 alpha beta 2 turn one', 'got turn one turn two'])
  }).timeout(300_000)

  it('Copilot CLI: the command of its page, and its own tool', async function () {
    const home = await install('@github/copilot')
    if (!home) return this.skip()
    const command = `${join(home, 'node_modules/.bin/copilot')} --allow-all-tools "$@"`
    expect(await runBlock('copilot-cli', 'sh needs-copilot', home, command)).to.match(/^got What time is it in Tokyo/)
    const call = JSON.stringify({ call: 'view', path: join(work, 'a.txt') })
    const asked = `${command.replace('"$@"', '')} -p '${call}'`
    expect(await runBlock('copilot-cli', 'sh needs-copilot', home, asked)).to.match(/got .*alpha beta/)
  }).timeout(300_000)

  it('Gemini CLI: finds the server of its page', async function () {
    const home = await install('@google/gemini-cli')
    if (!home) return this.skip()
    await mkdir(join(work, '.gemini'))
    await writeFile(join(work, '.gemini/settings.json'), await readBlock('gemini-cli', 'json'))
    const { env, ...more } = settings(home)
    const trusted = { ...more, env: { ...env, GEMINI_CLI_TRUST_WORKSPACE: 'true' } }
    const { all } = await execa(join(home, 'node_modules/.bin/gemini'), ['mcp', 'list'], { ...trusted, all: true })
    expect(all).to.match(/agents: \S+ \(http\) - Connected/)
  }).timeout(300_000)

  /** Installs packages into a folder of their own. @returns undefined when they cannot be installed */
  async function install(...packages: readonly string[]): Promise<string | undefined> {
    const home = await mkdtemp(join(dir, 'client-'))
    await writeFile(join(home, 'package.json'), '{ "private": true, "type": "module" }')
    return (await succeeds('npm', ['install', '--no-fund', '--no-audit', ...packages], home)) ? home : undefined
  }

  async function succeeds(command: string, args: readonly string[], cwd: string): Promise<boolean> {
    const { exitCode, stderr } = await execa(command, args, { cwd, reject: false })
    if (exitCode !== 0) console.log(`skipped: ${args.at(-1)} cannot be installed: ${stderr.trim().split('\n').at(-1)}`)
    return exitCode === 0
  }

  /** A client that has nothing of this machine, and asks nobody but the server. */
  function settings(home: string) {
    const quiet = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' }
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      ANTHROPIC_BASE_URL: `${url}/anthropic`,
      ANTHROPIC_API_KEY: 'none',
    }
    const more = { extendEnv: false, stdin: 'ignore', timeout: 120_000 } as const
    return { cwd: work, env: { ...env, ...quiet }, ...more }
  }

  function reads(file: string): string {
    return JSON.stringify({ call: 'Read', file_path: join(work, file) })
  }

  /** Runs the last block of a page. @param command what the program that it calls stands for */
  async function runBlock(page: string, kind: string, home: string, command: string): Promise<string> {
    const block = await readBlock(page, kind)
    const [, program = ''] = /^(\w+) .*'What/m.exec(block) ?? []
    await writeFile(join(home, program), `#!/bin/sh\nexec ${command}\n`)
    await chmod(join(home, program), 0o755)
    const { env, ...more } = settings(home)
    const { stdout } = await execa('bash', ['-c', block], { ...more, env: { ...env, PATH: `${home}:${env.PATH}` } })
    return stdout
  }

  /** The last block of a page in a language, with the address of the server. */
  async function readBlock(page: string, kind: string): Promise<string> {
    const text = await readFile(join(ROOT, `docs/clients/${page}.md`), 'utf8')
    const blocks = [...text.matchAll(new RegExp(`\`\`\`${kind}\n(.*?)\`\`\``, 'gs'))]
    const [, block = ''] = blocks.at(-1) ?? []
    return block.replaceAll('http://127.0.0.1:9001', url)
  }
})
