// Tries the Codex CLI with a server of this build: a scripted agent has it run one shell command, and ends. It adds nothing to the
// project; `npx` fetches the CLI. `node scripts/try-codex.js [command]`, default: npx --yes @openai/codex@0.169.0
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { buildServer } from '../dist/index.js'

const TIMEOUT_MS = 120_000
const chosen = process.argv.slice(2)
const [command, ...prefix] = chosen.length > 0 ? chosen : ['npx', '--yes', '@openai/codex@0.169.0']

const dir = mkdtempSync(join(tmpdir(), 'agent-host-codex-'))
const [project, home, work] = ['project', 'home', 'work'].map((name) => makeFolder(name))
writeProject(project)
const server = await buildServer({
  projectDir: project,
  adapters: ['ResponsesCompatApiAdapter', 'ChatCompatApiAdapter'],
  port: 0,
  logLevel: 'warn',
})
try {
  writeConfig(home, await server.listen())
  const { stdout, stderr, exitCode } = await execa(
    command,
    [...prefix, 'exec', '--skip-git-repo-check', '--json', 'Make a file.'],
    {
      cwd: work,
      env: { CODEX_HOME: home },
      stdin: 'ignore',
      reject: false,
      timeout: TIMEOUT_MS,
    },
  )
  console.log(stdout)
  if (exitCode !== 0) console.error(stderr)
  const made = readFileSync(join(work, 'made.txt'), 'utf8').trim()
  if (exitCode !== 0 || made !== 'by codex') throw new Error(`Codex ended with ${exitCode}; made.txt says '${made}'.`)
  console.log('Codex ran one shell command and ended.')
} finally {
  await server.close()
  rmSync(dir, { recursive: true, force: true })
}

function makeFolder(name) {
  const folder = join(dir, name)
  mkdirSync(folder)
  return folder
}

/** Its model calls the shell tool of Codex, and then says that it is done. */
function writeProject(folder) {
  mkdirSync(join(folder, 'agents'))
  const call = { name: 'exec_command', arguments: { cmd: 'echo by codex > made.txt' } }
  const replies = JSON.stringify([{ text: 'I make it.', tool_calls: [call] }, 'Done.'])
  writeFileSync(
    join(folder, 'agents/coder.yml'),
    `id: coder
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: ${replies} } }
  - { id: main, module: orchestrator/tool-loop }
`,
  )
}

function writeConfig(folder, url) {
  const config = `model = "coder"
model_provider = "agent-host"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.agent-host]
name = "agent-host"
base_url = "${url}/v1"
wire_api = "responses"
`
  writeFileSync(join(folder, 'config.toml'), config)
}
