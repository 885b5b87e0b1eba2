// Codex runs its tools and compacts; openai for Node and Python, the AI SDK and OpenAI Agents call every kind of tool, with kill -9 between two rounds.

import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'
import { startModelServer } from '../support/fake-model-server.ts'
import { freePort } from '../support/free-port.ts'
import { modelAgent } from '../support/model-agent.ts'
import { killRunning, type RunningCli, startCli } from '../support/run-cli.ts'
import { signedAnthropic } from '../support/signed-thinking.ts'
import { makeSharedProject, removeFolder, type TempProject } from '../support/temp-project.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Each type of the client's requests, with the table that has a decision about every member. */
const DECISIONS = `import type { ResponseCreateParams, ResponseIncludable, ResponseInputItem, Tool } from 'openai/resources/responses/responses'
import { FIELDS, INCLUDES, INPUT_ITEMS, TOOLS } from '${ROOT}test/support/request-parts.ts'

type Decided<Member extends string> = Readonly<Record<Member, unknown>>
export const tools: Decided<Tool['type']> = TOOLS
export const items: Decided<NonNullable<ResponseInputItem['type']>> = INPUT_ITEMS
export const includes: Decided<ResponseIncludable> = INCLUDES
export const fields: Decided<keyof ResponseCreateParams> = FIELDS
`
const SCRIPTS = fileURLToPath(new URL('../support/clients/', import.meta.url))
const MCP_SERVER = fileURLToPath(new URL('../support/mcp-tool-server.js', import.meta.url))
const PACKAGES = [
  'node@24',
  '@openai/codex@0.171.0',
  'openai@7.57.0',
  'ai@7',
  '@ai-sdk/openai@4',
  '@openai/agents@0.20',
  'zod@4',
]
const PYTHON_PACKAGE = 'openai==3.57.0'

const FILES = {
  // Its model calls the tool that the last message names, and tells the outputs.
  ...modelAgent(
    'caller',
    `    const last = messages.at(-1)
    const tool = last?.role === 'user' && tools.find(({ name }) => name === last.content)
    const isText = tool && 'input' in (tool.parameters.properties ?? {})
    const args = isText ? { input: 'ab12' } : { city: 'Lima' }
    if (tool) yield { type: 'tool_call', call: { id: 'call_' + messages.length, name: tool.name, arguments: args } }
    else yield { type: 'text', text: 'got ' + messages.flatMap((m) => (m.role === 'tool' ? [m.content] : [])).join(', ') }
    yield { type: 'finish', reason: tool ? 'tool_calls' : 'stop' }`,
  ),
  // Its model makes the call that the last message is, and tells what it was given otherwise. Each answer costs many tokens.
  ...modelAgent(
    'coder',
    `    const { role, content } = messages.at(-1)
    const isSummary = messages[0].content.startsWith('Summarize') || content.includes('CONTEXT CHECKPOINT')
    const call = role === 'user' && content.startsWith('{') ? JSON.parse(content) : undefined
    const told = messages.map((message) => message.role + ': ' + (message.toolCalls?.[0].name ?? message.content.split('\\n').at(-1)))
    if (call) yield { type: 'tool_call', call: { id: 'call_' + messages.length, ...call } }
    else yield { type: 'text', text: isSummary ? 'SUMMARY' : told.slice(-4).join(' | ') }
    yield { type: 'usage', usage: { inputTokens: 30_000, outputTokens: 1 } }
    yield { type: 'finish', reason: call ? 'tool_calls' : 'stop' }`,
  ),
  'agents/keeper.yml': `id: keeper
modules:
  - id: llm
    module: llm/anthropic
    config: { model: m, api_key: none, base_url: "\${MODEL_URL}", max_retries: 0, thinking_budget: 2000 }
  - { id: loop, module: orchestrator/tool-loop }`,
}

/** Entry of Codex's catalogue of models. */
const CODEX_MODEL = {
  slug: 'coder',
  display_name: 'Coder',
  supported_reasoning_levels: [],
  shell_type: 'shell_command',
  visibility: 'list',
  supported_in_api: true,
  priority: 1,
  base_instructions: 'You code.',
  supports_reasoning_summaries: false,
  support_verbosity: false,
  truncation_policy: { mode: 'tokens', limit: 10_000 },
  supports_parallel_tool_calls: false,
  experimental_supported_tools: [],
  context_window: 272_000,
}

/** What a client prints for each kind of tool, created and streamed. */
const ANSWERS = [
  'function_call {"city":"Lima"} got find of none',
  'custom_tool_call ab12 got note of none',
  'custom_tool_call ab12 got code of none',
  'custom_tool_call ab12 got query of none',
  'function_call {"city":"Lima"} got find of crm',
].flatMap((line) => [line, line])
const CHAT_ANSWERS = [
  'function {"city":"Lima"} got find done',
  'custom ab12 got note done',
  'custom ab12 got code done',
].flatMap((line) => [line, line])

describe('tools of clients', () => {
  let dir: string
  let project: TempProject
  let model: Awaited<ReturnType<typeof startModelServer>>
  let server: RunningCli
  let port: number
  let hasPackages: boolean
  const node24 = () => join(dir, 'node_modules/.bin/node')
  const url = () => `http://127.0.0.1:${port}`

  before(async function () {
    this.timeout(600_000)
    dir = await mkdtemp(join(tmpdir(), 'agent-host-client-tools-'))
    await writeFile(join(dir, 'package.json'), '{"private": true}')
    hasPackages = await installs('npm', ['install', '--no-fund', '--no-audit', ...PACKAGES])
    for (const script of ['openai.mjs', 'ai-sdk.mjs', 'agents.mjs'])
      await copyFile(join(SCRIPTS, script), join(dir, script))
    project = await makeSharedProject(FILES)
    model = await startModelServer(signedAnthropic)
    port = await freePort()
    await start()
  })
  after(async () => {
    killRunning()
    await model?.stop()
    if (project) await removeFolder(project.dir)
    await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  })

  async function start(): Promise<void> {
    const adapters = 'ResponsesCompatApiAdapter,ChatCompatApiAdapter'
    const env = { PATH: process.env.PATH ?? '', MODEL_URL: model.url }
    server = startCli(['serve', '--adapter', adapters, '--port', String(port)], { cwd: project.dir, env })
    await server.printed(/listening at/)
  }

  /** Lines that a client prints. */
  async function run(command: string, ...args: string[]): Promise<string[]> {
    const { stdout } = await execa(command, args, { cwd: dir, timeout: 120_000 })
    return stdout.split('\n')
  }

  const clients: readonly (readonly [name: string, prepare: () => Promise<readonly [string, string] | undefined>])[] = [
    ['openai 6.49 on this Node', async () => [process.execPath, join(SCRIPTS, 'openai.mjs')]],
    ['openai 7.57 on Node 24', async () => (hasPackages ? [node24(), 'openai.mjs'] : undefined)],
    ['openai 3.57 for Python', preparePython],
  ]
  for (const [name, prepare] of clients) {
    it(`${name}: every kind of tool, created and streamed; kill -9 between the rounds; eight signed rounds of its own`, async function () {
      const client = await prepare()
      if (!client) return this.skip()
      await run(...client, url(), 'call', 'calls.json')
      await server.stop('SIGKILL')
      await start()
      expect(await run(...client, url(), 'answer', 'calls.json')).to.deep.equal(ANSWERS)
      expect(await run(...client, url(), 'chat')).to.deep.equal(CHAT_ANSWERS)
      expect(await run(...client, url(), 'keep')).to.deep.equal(['round 8: Done.'])
    }).timeout(300_000)
  }

  it('openai 7.57: every tool, item, field and value of include in its types has a decision', async function () {
    if (!hasPackages) return this.skip()
    await writeFile(join(dir, 'decisions.ts'), DECISIONS)
    const settings = ['--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions', '--module', 'nodenext']
    const { exitCode, stdout } = await execa(
      join(ROOT, 'node_modules/.bin/tsc'),
      [...settings, '--target', 'es2023', 'decisions.ts'],
      { cwd: dir, reject: false },
    )
    expect([exitCode, stdout]).deep.equal([0, ''])
  }).timeout(120_000)

  it('openai 7.57: its helper for streams takes a compaction', async function () {
    if (!hasPackages) return this.skip()
    expect(await run(node24(), 'openai.mjs', url(), 'compact')).deep.equal(['compaction'])
  }).timeout(120_000)

  it('AI SDK 7: customTool and functions, created and streamed', async function () {
    if (!hasPackages) return this.skip()
    expect(await run(node24(), 'ai-sdk.mjs', url())).to.deep.equal(
      ['note got noted ab12', 'code got coded ab12', 'find got found Lima'].flatMap((line) => [line, line]),
    )
  }).timeout(120_000)

  it('OpenAI Agents: tools, those of a namespace, and custom ones, created and streamed', async function () {
    if (!hasPackages) return this.skip()
    expect(await run(node24(), 'agents.mjs', url())).to.deep.equal(
      ['find got found Lima', 'crm__find got found Lima', 'custom_tool_call got noted ab12'].flatMap((line) => [
        line,
        line,
      ]),
    )
  }).timeout(120_000)

  describe('Codex', () => {
    const shell = { name: 'exec_command', arguments: { cmd: 'echo done > made.txt' } }

    it('runs a command of its shell', async function () {
      const codex = hasPackages ? await makeCodex() : this.skip()
      await codex.exec(shell)
      expect(await codex.made()).to.equal('done\n')
    }).timeout(120_000)

    it('runs a function of a namespace, from an MCP server', async function () {
      // Without `required` it does not wait for the server, and asks the model without its tools.
      const command = `command = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(MCP_SERVER)}]`
      const mcp = `[mcp_servers.notes]\nrequired = true\nstartup_timeout_sec = 60\n${command}`
      const codex = hasPackages ? await makeCodex({ config: mcp }) : this.skip()
      const [last] = await codex.exec({ name: 'mcp__notes__add', arguments: { a: 1, b: 2 } })
      expect(last).to.match(/assistant: mcp__notes__add \| tool: .*3$/)
    }).timeout(120_000)

    it('applies a patch, which its catalogue makes a custom tool', async function () {
      const codex = hasPackages ? await makeCodex({ model: { apply_patch_tool_type: 'freeform' } }) : this.skip()
      const input = '*** Begin Patch\n*** Add File: made.txt\n+done\n*** End Patch\n'
      await codex.exec({ name: 'apply_patch', arguments: { input } })
      expect(await codex.made()).to.equal('done\n')
    }).timeout(120_000)

    it('runs tools that it sends as an item, before the messages', async function () {
      const codex = hasPackages ? await makeCodex({ model: { use_responses_lite: true } }) : this.skip()
      await codex.exec({ ...shell, name: 'functions__exec_command' })
      expect(await codex.made()).to.equal('done\n')
    }).timeout(120_000)

    for (const [provider, how] of [
      ['OpenAI', 'by a compaction item'],
      ['agent-host', 'by a summary of its own'],
    ] as const) {
      it(`compacts a session above its threshold ${how}, within a turn and before the next`, async function () {
        const settings = { provider, model: { auto_compact_token_limit: 20_000 } }
        const codex = hasPackages ? await makeCodex(settings) : this.skip()
        const [within] = await codex.exec(shell)
        expect(await codex.made()).to.equal('done\n')
        const [next] = await codex.exec('Again.', 'resume', '--last')
        const summary = provider === 'OpenAI' ? 'system: SUMMARY' : 'user: SUMMARY'
        expect(within).to.include(summary)
        expect(next).to.include(summary)
        expect(next).to.match(/\| user: Again\.$/)
      }).timeout(120_000)
    }
  })

  /** Codex with a home of its own. Its catalogue knows the one model. */
  async function makeCodex({ provider = 'agent-host', config = '', model: more = {} } = {}) {
    const home = await mkdtemp(join(dir, 'codex-'))
    const work = join(home, 'work')
    await mkdir(work)
    const models = [{ ...CODEX_MODEL, ...more }]
    await writeFile(join(home, 'catalogue.json'), JSON.stringify({ models }))
    const lines = [
      'model = "coder"',
      'model_provider = "tried"',
      'approval_policy = "never"',
      'sandbox_mode = "danger-full-access"',
      `model_catalog_json = ${JSON.stringify(join(home, 'catalogue.json'))}`,
      '[model_providers.tried]',
      // It leaves compaction to providers of this name alone.
      `name = "${provider}"`,
      `base_url = "${url()}/v1"`,
      'wire_api = "responses"',
      config,
    ]
    await writeFile(join(home, 'config.toml'), lines.join('\n'))
    return {
      made: () => readFile(join(work, 'made.txt'), 'utf8'),
      /** Texts of the answers to a message. */
      exec: async (message: string | object, ...command: string[]): Promise<string[]> => {
        const text = typeof message === 'string' ? message : JSON.stringify(message)
        const args = ['exec', ...command, '--skip-git-repo-check', '--json', text]
        const settings = { cwd: work, env: { CODEX_HOME: home, HOME: home }, stdin: 'ignore', timeout: 90_000 } as const
        const { stdout } = await execa(join(dir, 'node_modules/.bin/codex'), args, settings)
        const events = stdout.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
        return events.flatMap(({ item }) => (item?.type === 'agent_message' ? [item.text] : []))
      },
    }
  }

  async function preparePython(): Promise<readonly [string, string] | undefined> {
    const environment = join(dir, 'python')
    await execa('python3', ['-m', 'venv', environment])
    const isInstalled = await installs(join(environment, 'bin/pip'), ['install', '--quiet', PYTHON_PACKAGE])
    // A script called openai would be imported in the place of the package.
    await copyFile(join(SCRIPTS, 'openai.py'), join(dir, 'every_tool.py'))
    return isInstalled ? [join(environment, 'bin/python'), 'every_tool.py'] : undefined
  }

  async function installs(command: string, args: readonly string[]): Promise<boolean> {
    const { exitCode, stderr } = await execa(command, args, { cwd: dir, reject: false })
    if (exitCode !== 0) console.log(`skipped: ${args.at(-1)} cannot be installed: ${stderr.trim().split('\n').at(-1)}`)
    return exitCode === 0
  }
})
