// Tries a coding agent of the terminal with a server of this build: a scripted agent has it run one command of its own tools, and ends. It
// adds nothing to the project; `npx` fetches the client, those in Python have to be installed.
// `node scripts/try-client.js <name> [command]`
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { buildServer } from '../dist/index.js'

const TIMEOUT_MS = 180_000
const TASK = 'Make a file.'
const COMMAND = 'echo done > made.txt'

/**
 * By name: how it is started, its files (relative to its home), and the call that has it make a file. `{url}` and `{home}` are filled in.
 *
 * @typedef {{ start: string[], before?: string[], args: string[], env?: Record<string, string>, files?: Record<string, unknown>,
 *   call?: { name: string, arguments: object }, answer?: string }} Client
 * @type {Record<string, Client>}
 */
const CLIENTS = {
  aider: {
    start: ['aider'],
    args: [
      '--model',
      'openai/coder',
      '--edit-format',
      'whole',
      '--yes-always',
      '--no-git',
      '--no-check-update',
      '--message',
      TASK,
    ],
    env: { OPENAI_API_BASE: '{url}/v1', OPENAI_API_KEY: 'none' },
    answer: 'made.txt\n```\ndone\n```\n',
  },
  cline: {
    start: ['npx', '--yes', 'cline@3.0.65'],
    before: ['auth', 'openai-compatible', '--apikey', 'none', '--modelid', 'coder', '--baseurl', '{url}/v1'],
    args: ['--provider', 'openai-compatible', '--model', 'coder', TASK],
    call: { name: 'run_commands', arguments: { commands: [COMMAND] } },
  },
  codex: {
    start: ['npx', '--yes', '@openai/codex@0.171.0'],
    args: ['exec', '--skip-git-repo-check', '--json', TASK],
    env: { CODEX_HOME: '{home}' },
    files: {
      'config.toml': `model = "coder"
model_provider = "agent-host"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.agent-host]
name = "agent-host"
base_url = "{url}/v1"
wire_api = "responses"
`,
    },
    call: { name: 'exec_command', arguments: { cmd: COMMAND } },
  },
  continue: {
    start: ['npx', '--yes', '@continuedev/cli@1.5.47'],
    args: ['--config', '{home}/config.yaml', '--auto', '-p', TASK],
    files: {
      'config.yaml': `name: agents
version: 0.0.1
schema: v1
models:
  - name: coder
    provider: openai
    model: coder
    apiBase: {url}/v1
    apiKey: none
    roles: [chat]
    capabilities: [tool_use]
`,
    },
    call: { name: 'Bash', arguments: { command: COMMAND } },
  },
  llm: {
    start: ['llm'],
    args: ['-m', 'coder', '--key', 'none', '--functions', "def make():\n    open('made.txt', 'w').write('done')", TASK],
    env: { LLM_USER_PATH: '{home}' },
    files: {
      'extra-openai-models.yaml':
        '- { model_id: coder, model_name: coder, api_base: "{url}/v1", supports_tools: true, vision: true, supports_schema: true }\n',
    },
    call: { name: 'make', arguments: {} },
  },
  opencode: {
    start: ['npx', '--yes', 'opencode-ai@1.18.33'],
    args: ['run', '--model', 'agent-host/coder', TASK],
    files: {
      '.config/opencode/opencode.json': {
        permission: 'allow',
        provider: {
          'agent-host': {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: '{url}/v1', apiKey: 'none' },
            models: { coder: { name: 'coder' } },
          },
        },
      },
    },
    call: { name: 'bash', arguments: { command: COMMAND, description: 'Makes a file' } },
  },
  pi: {
    start: ['npx', '--yes', '@mariozechner/pi-coding-agent@0.73.1'],
    args: ['--provider', 'agent-host', '--model', 'coder', '-p', TASK],
    files: {
      '.pi/agent/models.json': {
        providers: {
          'agent-host': {
            baseUrl: '{url}/v1',
            api: 'openai-completions',
            apiKey: 'none',
            models: [{ id: 'coder', name: 'coder', input: ['text'], contextWindow: 128_000, maxTokens: 8192 }],
          },
        },
      },
    },
    call: { name: 'bash', arguments: { command: COMMAND } },
  },
  'qwen-code': {
    // It needs Node 22.
    start: ['npx', '--yes', '--package=node@24', '--package=@qwen-code/qwen-code@0.24.4', 'qwen'],
    args: ['--approval-mode', 'yolo', '--auth-type', 'openai', '--model', 'coder', '-p', TASK],
    env: { OPENAI_BASE_URL: '{url}/v1', OPENAI_API_KEY: 'none' },
    call: { name: 'run_shell_command', arguments: { command: COMMAND, is_background: false } },
  },
}

const [name, ...chosen] = process.argv.slice(2)
const client = CLIENTS[name]
if (!client) throw new Error(`Choose one of: ${Object.keys(CLIENTS).join(', ')}.`)
const [command, ...prefix] = chosen.length > 0 ? chosen : client.start

const dir = mkdtempSync(join(tmpdir(), 'agent-host-client-'))
const [project, home, work] = ['project', 'home', 'work'].map((part) => join(dir, part))
for (const folder of [project, home, work]) mkdirSync(folder)
writeProject(project, client)
const adapters = ['ResponsesCompatApiAdapter', 'ChatCompatApiAdapter']
const server = await buildServer({ projectDir: project, adapters, port: 0, logLevel: 'warn' })
try {
  const url = await server.listen()
  const fill = (text) => text.replaceAll('{url}', url).replaceAll('{home}', home)
  writeFiles(home, client.files, fill)
  if (client.before) await start(client.before.map(fill), fill)
  const { all, exitCode } = await start(client.args.map(fill), fill)
  console.log(all)
  const made = readFileSync(join(work, 'made.txt'), 'utf8').trim()
  if (exitCode !== 0 || made !== 'done') throw new Error(`${name} ended with ${exitCode}; made.txt says '${made}'.`)
  console.log(`${name} made a file and ended.`)
} finally {
  await server.close()
  await stopLeftBehind()
  // Some still write for a moment.
  rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
}

function start(args, fill) {
  const own = Object.fromEntries(Object.entries(client.env ?? {}).map(([key, value]) => [key, fill(value)]))
  // Some take the working directory from the environment.
  const env = {
    HOME: home,
    PWD: work,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    ...own,
  }
  const settings = { cwd: work, env, all: true, reject: false, stdin: 'ignore', timeout: TIMEOUT_MS }
  return execa(command, [...prefix, ...args], settings)
}

/** Some leave a process in the background, which would go on writing. */
async function stopLeftBehind() {
  const { stdout } = await execa('ps', ['-eo', 'pid=,args='])
  const left = stdout.split('\n').filter((line) => line.includes(dir))
  for (const line of left) process.kill(Number.parseInt(line, 10))
}

function writeFiles(folder, files = {}, fill = (text) => text) {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), fill(typeof content === 'string' ? content : JSON.stringify(content)))
  }
}

/** Its model calls the tool when it is offered, and says that it is done once it has the result. Requests for titles get that answer, too. */
function writeProject(folder, { call, answer = 'Done.' }) {
  writeFiles(folder, {
    'package.json': '{}',
    'agents/coder.yml': `id: coder
modules:
  - { id: llm, module: scripted }
  - { id: main, module: orchestrator/tool-loop }
`,
    'modules/scripted.ts': `import { defineModule, LLM } from 'agent-host'
const call = ${JSON.stringify(call ?? null)}
export default defineModule({ name: 'Scripted', provides: [LLM], create: () => ({
  async *generate({ messages, tools = [] }) {
    const isAsked = messages.at(-1)?.role === 'user' && tools.some(({ name }) => name === call?.name)
    if (isAsked) yield { type: 'tool_call', call: { id: 'call_1', ...call } }
    else yield { type: 'text', text: ${JSON.stringify(answer)} }
    yield { type: 'finish', reason: isAsked ? 'tool_calls' : 'stop' }
  } }) })
`,
  })
}
