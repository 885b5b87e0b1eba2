import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { killRunning, startCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const AGENT = 'id: echo\nmodules:\n  - { id: echo, module: echo }\n'
const MANIFEST = '{"name": "p"}'

/** File names that `check` prints, relative to the project that it has found. */
async function checkedFiles(dir: string, args: readonly string[] = []): Promise<string[]> {
  const { stdout } = await callCli(['check', '--json', ...args], { cwd: dir })
  return JSON.parse(stdout).agents.map(({ file }: { file: string }) => file)
}

describe('the project of a command', () => {
  afterEach(killRunning)

  it('is the current folder if it has agents/', async () => {
    const { path } = await makeProject({
      'agents/outer.yml': AGENT,
      'package.json': MANIFEST,
      'inner/agents/inner.yml': AGENT,
    })
    expect(await checkedFiles(path('inner'))).deep.equal(['agents/inner.yml'])
  })

  it('is otherwise the nearest parent with agents/ and package.json', async () => {
    const { path, write } = await makeProject({ 'agents/outer.yml': AGENT, 'package.json': MANIFEST })
    await write('tools/deep/x.ts', '')
    expect(await checkedFiles(path('tools/deep'))).deep.equal(['agents/outer.yml'])
  })

  it('is not a parent without package.json', async () => {
    const { path } = await makeProject({ 'agents/outer.yml': AGENT, 'tools/x.ts': '' })
    expect(await checkedFiles(path('tools'))).deep.equal([])
  })

  it('is the current folder with --agent-dir', async () => {
    const { path } = await makeProject({
      'agents/outer.yml': AGENT,
      'package.json': MANIFEST,
      'inner/mine/inner.yml': AGENT,
    })
    expect(await checkedFiles(path('inner'), ['--agent-dir', 'mine'])).deep.equal(['mine/inner.yml'])
  })

  it('its .env is read, wherever in it you run the command', async () => {
    const { path } = await makeProject({
      'agents/a.yml': AGENT,
      'package.json': MANIFEST,
      '.env': 'AGENT_HOST_AGENT_DIR=./others\n',
      'others/other.yml': AGENT,
      'tools/x.ts': '',
    })
    expect(await checkedFiles(path('tools'))).deep.equal(['others/other.yml'])
  })

  for (const command of [
    ['dev', '--port', '0'],
    ['serve', '--port', '0', '--debug-ui'],
    ['mcp', '--stdio'],
    ['runs'],
    ['runs', 'tail'],
    ['new', 'agent', 'x'],
    ['schema'],
  ]) {
    it(`'${command.join(' ')}' outside a project says so, exits with 1 and leaves nothing behind`, async () => {
      const { dir } = await makeProject()
      const { exitCode, stdout, stderr } = await callCli(command, { cwd: dir })
      expect({ exitCode, stdout, stderr }).deep.equal({
        exitCode: 1,
        stdout: '',
        stderr:
          `Error: No project found: neither ${dir} nor a folder above it holds agents/.\n` +
          '  Create a project: agent-host init <name>\n',
      })
      expect(await readdir(dir)).deep.equal([])
    })
  }

  it('leaves nothing behind if the folder of --agent-dir is missing', async () => {
    const { dir } = await makeProject()
    const { exitCode, stderr } = await callCli(['dev', '--port', '0', '--agent-dir', 'nope'], { cwd: dir })
    expect(exitCode).equal(1)
    expect(stderr).match(/^Error: The agent folder .*nope is not there\./)
    expect(await readdir(dir)).deep.equal([])
  })

  it('may be a bare folder with agents/', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': AGENT })
    const server = startCli(['serve', '--port', '0', '--adapter', 'ChatCompatApiAdapter'], { cwd: dir })
    await server.printed(/listening at http/)
    expect(await server.stop()).equal(0)
  })

  it('serves until a signal, which stops in order from the moment in which the server listens', async () => {
    const { dir } = await makeProject({
      'agents/echo.yml': AGENT,
      'signal.mjs': `import { Server } from 'node:net'
const { listen } = Server.prototype
Server.prototype.listen = function (...args) {
  this.prependOnceListener('listening', () => process.kill(process.pid, 'SIGTERM'))
  return listen.apply(this, args)
}`,
    })
    const env = { NODE_OPTIONS: `--import=${pathToFileURL(join(dir, 'signal.mjs'))}` }
    const server = startCli(['serve', '--port', '0', '--adapter', 'ChatCompatApiAdapter'], { cwd: dir, env })
    expect(await server.ended()).equal(0)
    expect(server.output()).match(/Stopping: running work has/)
  })
})
