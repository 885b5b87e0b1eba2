import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { expect } from 'chai'
import { type Choice, chooseItems, type Offer } from '../../src/commands/eject/choose-items.ts'
import { listLibrary } from '../../src/module/load-module.ts'
import { callCli } from '../support/call-cli.ts'
import { edit, makeEjected, readTree } from '../support/eject.ts'
import { eventually } from '../support/eventually.ts'
import { itWith } from '../support/it-with.ts'
import { runCli } from '../support/run-cli.ts'
import { chat, closeServers, makeServer } from '../support/server.ts'
import { makeProject } from '../support/temp-project.ts'

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'latin1')
const { version } = JSON.parse(read('package.json'))
const MARKER = '// A project file with the same path overrides the library module.\nexport {}\n'
const OFFLINE = ['llm/lib/offline-arguments.ts', 'llm/lib/offline-choice.ts', 'llm/offline.ts']

describe('eject', () => {
  it('copies a module, its imports and package markers, and keeps the originals', async () => {
    const { dir } = await makeProject()
    expect(await runCli(['eject', '-m', 'llm/offline'], { cwd: dir })).to.deep.equal({
      exitCode: 0,
      stdout: `created modules/index.ts
created modules/llm/index.ts
created modules/llm/lib/index.ts
created modules/llm/offline.ts
created modules/llm/lib/offline-arguments.ts
created modules/llm/lib/offline-choice.ts
saved the originals of 3 files in .agent-host/ejected, for eject diff and upgrade

No agent names llm/offline yet. Name it in an agent file: module: llm/offline
Check the project: agent-host check
`,
      stderr: '',
    })
    const copies = OFFLINE.flatMap((path) => [
      [`.agent-host/ejected/${path}`, read(`modules/${path}`)],
      [`modules/${path}`, `// ejected from agent-host ${version}: ${path}\n${read(`modules/${path}`)}`],
    ])
    expect(await readTree(dir)).to.deep.equal({
      ...Object.fromEntries(copies),
      'modules/index.ts': read('templates/project/modules/index.ts'),
      'modules/llm/index.ts': MARKER,
      'modules/llm/lib/index.ts': MARKER,
    })
  })

  it('lists the agents that use the copies, and copies that no agent uses', async () => {
    const example =
      'id: example\nmodules:\n  - { id: llm, module: llm/auto }\n  - { id: loop, module: orchestrator/tool-loop }\n'
    const { dir, path } = await makeProject({ 'agents/example.yml': example })
    // Reading it would not end.
    if (process.platform !== 'win32') execFileSync('mkfifo', [path('agents/pipe.yml')])
    const loop = await callCli(['eject', '-m', 'tool-loop'], { cwd: dir })
    expect(loop.stdout).to.match(
      /\n\norchestrator\/tool-loop is used by 'example'\. Edit modules\/orchestrator\/tool-loop\.ts\.\nCheck the project: agent-host check\n$/,
    )
    const offline = await callCli(['eject', '-m', 'offline'], { cwd: dir })
    expect(offline.stdout).to.contain(
      '\nNo agent names llm/offline: llm/auto keeps its own. Eject llm/auto as well, or name llm/offline in the agent.\n',
    )
    const again = await callCli(['eject', '-m', 'offline'], { cwd: dir })
    expect(again.stdout).to.equal('')
  })

  it('accepts names in every form: several, repeated, with a dot, an item, a package', async () => {
    const { dir } = await makeProject()
    await callCli(['eject', '-m', 'llm.mock', 'history', '-m', 'response', '--module', 'echo'], { cwd: dir })
    const files = Object.keys(await readTree(dir)).filter((file) => /^modules\/.*(?<!index)\.ts$/.test(file))
    expect(files).to.deep.equal([
      'modules/conversation/history.ts',
      'modules/conversation/lib/keep-latest.ts',
      'modules/echo.ts',
      'modules/llm/mock.ts',
      'modules/response/collector.ts',
    ])
  })

  it('copies files that a module reads at run time, with a comment in their language', async () => {
    const { read } = await makeEjected('tools/local')
    const lines = (await read('modules/tools/lib/local/python-worker.py')).split('\n')
    expect(lines[0]).to.equal(`# ejected from agent-host ${version}: tools/lib/local/python-worker.py`)
    expect(lines[1]).to.match(/^"""/)
  })

  it('writes to the folder of --dest, and creates it', async () => {
    const { dir, path } = await makeProject()
    expect((await callCli(['eject', '-m', 'echo', '-d', 'deep/er'], { cwd: dir })).exitCode).to.equal(0)
    expect(Object.keys(await readTree(dir))).to.deep.equal([
      'deep/er/.agent-host/ejected/echo.ts',
      'deep/er/modules/echo.ts',
      'deep/er/modules/index.ts',
    ])
    const { stdout } = await callCli(['eject', 'list', '--dest', path('deep/er')])
    expect(stdout).to.match(/^ {2}echo .* \[ejected from /m)
  })

  it('never overwrites existing files: it warns, and exits with 0', async () => {
    const files = {
      'modules/index.ts': '// mine\r\n',
      'modules/llm/index.ts': '',
      'modules/llm/offline.ts': 'not even code',
      'modules/llm/lib/offline-choice.ts/a-folder': 'in its place',
    }
    const { dir, path } = await makeProject(files)
    await symlink('nowhere', path('modules/llm/lib/offline-arguments.ts'))
    const { exitCode, stdout, stderr } = await callCli(['eject', '-m', 'llm/offline'], { cwd: dir })
    expect({ exitCode, stdout, stderr }).to.deep.equal({
      exitCode: 0,
      stdout: 'created modules/llm/lib/index.ts\n',
      stderr:
        'Warning: modules/llm/offline.ts, modules/llm/lib/offline-arguments.ts, modules/llm/lib/offline-choice.ts already exist; kept as they are.\n',
    })
    expect(await readTree(dir)).to.deep.equal({ ...files, 'modules/llm/lib/index.ts': MARKER })
  })

  it('says once that its files exist, however many they are', async () => {
    const { dir } = await makeProject({})
    await callCli(['eject', '-m', 'orchestrator/tool-loop'], { cwd: dir })
    expect(await callCli(['eject', '-m', 'orchestrator/tool-loop'], { cwd: dir })).to.deep.equal({
      exitCode: 0,
      stdout: '',
      stderr: 'Warning: modules/orchestrator/tool-loop.ts and 6 more files already exist; kept as they are.\n',
    })
  })

  it('changes nothing if run again after an edit', async () => {
    const project = await makeEjected('tools')
    await edit(project, 'modules/tools/mcp.ts', 'McpTools', 'MyTools')
    const before = await readTree(project.dir)
    expect((await callCli(['eject', '-m', 'tools'], { cwd: project.dir })).exitCode).to.equal(0)
    expect(await readTree(project.dir)).to.deep.equal(before)
  })

  it('skips a module whose name exists with another extension', async () => {
    const { dir, exists } = await makeProject({ 'modules/echo.mjs': 'export default 1' })
    const { exitCode, stderr } = await callCli(['eject', '-m', 'echo'], { cwd: dir })
    expect({ exitCode, stderr, written: exists('modules/echo.ts') }).to.deep.equal({
      exitCode: 0,
      stderr: 'Warning: modules/echo.ts is not written: modules/echo.mjs exists.\n',
      written: false,
    })
  })

  it('keeps the original of a new copy if the old copy is gone', async () => {
    const project = await makeEjected('echo')
    await project.write('.agent-host/ejected/echo.ts', 'of an older version')
    await project.remove('modules/echo.ts')
    await callCli(['eject', '-m', 'echo'], { cwd: project.dir })
    expect(await project.read('.agent-host/ejected/echo.ts')).to.equal(read('modules/echo.ts'))
  })

  it('writes nothing if one of several names is unknown, and suggests another', async () => {
    const { dir } = await makeProject()
    expect(await callCli(['eject', '-m', 'echo', 'llm/atuo'], { cwd: dir })).to.deep.equal({
      exitCode: 1,
      stdout: '',
      stderr: `Error: There is no module 'llm/atuo' in the library.
  Did you mean 'llm/auto'?
  \`agent-host eject list\` lists them. Nothing was changed.
`,
    })
    expect(await readTree(dir)).to.deep.equal({})
  })

  it('--dry-run lists the files, and writes nothing', async () => {
    const { dir } = await makeProject({ 'modules/echo.ts': 'mine' })
    expect(await callCli(['eject', '-m', 'echo', 'mock', '--dry-run'], { cwd: dir })).to.deep.equal({
      exitCode: 0,
      stdout: `would create modules/index.ts
would create modules/llm/index.ts
would create modules/llm/mock.ts
would save the originals of 1 file in .agent-host/ejected, for eject diff and upgrade
`,
      stderr: 'Warning: modules/echo.ts already exists; kept as it is.\n',
    })
    expect(await readTree(dir)).to.deep.equal({ 'modules/echo.ts': 'mine' })
  })

  it('reports a folder that it cannot write to', async () => {
    const { dir } = await makeProject({ modules: 'a file' })
    const { exitCode, stderr } = await callCli(['eject', '-m', 'echo'], { cwd: dir })
    expect(exitCode).to.equal(1)
    expect(stderr).to.match(/^Error: .* cannot be written: /)
    expect(await readTree(dir)).to.deep.equal({ modules: 'a file' })
  })

  it('reads no .env', async () => {
    const { dir, path } = await makeProject()
    await mkdir(path('.env'))
    expect((await callCli(['eject', '-m', 'echo'], { cwd: dir })).exitCode).to.equal(0)
  })

  it('lists the packages that the types need if agent-host is linked', async () => {
    const { dir } = await makeProject({ 'node_modules/agent-host/package.json': '{}' })
    const { stdout } = await callCli(['eject', '-m', 'llm/openai-compatible'], { cwd: dir })
    const { dependencies } = JSON.parse(read('package.json'))
    const ranges = ['@ai-sdk/openai-compatible', '@ai-sdk/provider'].map((name) => `'${name}@${dependencies[name]}'`)
    expect(stdout).to.contain(`For the types of what they import:\n  npm install --save-dev ${ranges.join(' ')}\n`)
  })
})

describe('eject list', () => {
  it('lists every package and module with its description', async () => {
    const { dir } = await makeProject()
    const { exitCode, stdout, stderr } = await callCli(['eject', 'list'], { cwd: dir })
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    const echo = lines.indexOf('echo')
    expect(lines[echo + 1]).to.match(/^ {2}echo {2,}Repeats the message\.$/)
    expect(lines.slice(0, 2).map((line) => line.slice(0, 15).trimEnd())).to.deep.equal(['chunker', '  chunker/token'])
    expect(lines.filter((line) => line.startsWith('  ')).map((line) => line.trim().split(' ')[0])).to.deep.equal(
      listLibrary(),
    )
    for (const line of lines.filter((each) => each.startsWith('  '))) expect(line).to.match(/^ {2}\S+ {2,}\S.*\.$/)
  })

  it('lists the modules of installed packages too', async () => {
    const { dir } = await makeProject({
      'package.json': '{ "dependencies": { "@acme/kit": "1.0.0" } }',
      'node_modules/@acme/kit/package.json':
        '{ "name": "@acme/kit", "type": "module", "agent-host": { "modules": "./modules", "api": 1 } }',
      'node_modules/@acme/kit/modules/rag.js': `import { defineModule, TextMessageHandler } from 'agent-host'
        export default defineModule({ name: 'Rag', description: 'Looks things up.', provides: [TextMessageHandler], create: () => ({ handleText() {} }) })`,
    })
    const { stdout } = await callCli(['eject', 'list'], { cwd: dir })
    expect(stdout.trimEnd().split('\n').slice(-2)).to.deep.equal([
      '@acme/kit (npm package)',
      '  @acme/kit/rag  Looks things up.',
    ])
    const json = await callCli(['eject', 'list', '--json'], { cwd: dir })
    expect((JSON.parse(json.stdout) as { installed: object[] }).installed).to.deep.equal([
      { name: '@acme/kit/rag', description: 'Looks things up.', package: '@acme/kit' },
    ])
  })

  it('--json lists ejected modules and whether they changed', async () => {
    const project = await makeEjected('llm/offline', 'llm/mock', 'echo', 'conversation')
    await edit(project, 'modules/llm/lib/offline-choice.ts', 'export', '/* mine */ export')
    await edit(project, 'modules/echo.ts', '// ejected', '// was ejected')
    await project.write('modules/llm/mock.ts', (await project.read('modules/llm/mock.ts')).replaceAll('\n', '\r\n'))
    await edit(project, '.agent-host/ejected/conversation/history.ts', 'export', '/* then */ export')
    const { stdout } = await callCli(['eject', 'list', '--json'], { cwd: project.dir })
    const { packages } = JSON.parse(stdout) as { packages: { name: string; items: Record<string, unknown>[] }[] }
    expect(packages.map(({ name }) => name)).to.deep.equal([
      'chunker',
      'conversation',
      'echo',
      'embedder',
      'evals',
      'guard',
      'llm',
      'memory',
      'orchestrator',
      'response',
      'tools',
    ])
    const items = packages.flatMap((each) => each.items)
    const stateOf = (name: string) => items.find((item) => item.name === name)
    expect(stateOf('tools/mcp')).to.deep.equal({
      name: 'tools/mcp',
      description: 'Tools of MCP servers, started here or reached over HTTP.',
      ejected: false,
      version: null,
      changed: null,
      outdated: null,
    })
    const facts = (name: string) => {
      const { description, ...rest } = stateOf(name) ?? {}
      return rest
    }
    const ejected = { ejected: true, version, changed: false, outdated: false }
    expect(facts('llm/offline')).to.deep.equal({ ...ejected, name: 'llm/offline', changed: true })
    expect(facts('llm/mock')).to.deep.equal({ ...ejected, name: 'llm/mock' })
    expect(facts('echo')).to.deep.equal({ ...ejected, name: 'echo', version: null, changed: true })
    expect(facts('conversation/history')).to.deep.equal({
      ...ejected,
      name: 'conversation/history',
      changed: true,
      outdated: true,
    })
  })

  it('shows unknown if the originals are missing', async () => {
    const { dir } = await makeProject({ 'modules/echo.ts': 'export default 1' })
    const { stdout } = await callCli(['eject', 'list'], { cwd: dir })
    expect(stdout).to.contain('  Repeats the message. [ejected, unknown whether changed]\n')
  })
})

describe('choosing modules to eject', () => {
  const offers: Offer[] = [
    { reference: 'echo', description: 'Says it again.', ejected: false },
    { reference: 'llm/auto', description: 'Any model.', ejected: true },
    { reference: 'llm/mock', description: 'A script.', ejected: false },
  ]

  it('lists packages, then the modules of the chosen ones with their descriptions', async () => {
    const asked: [string, readonly Choice[]][] = []
    const answers = [['llm'], ['llm/mock']]
    const chosen = await chooseItems(offers, async (message, choices) => {
      asked.push([message, choices])
      return answers.shift() ?? []
    })
    expect(chosen).to.deep.equal(['llm/mock'])
    expect(asked).to.deep.equal([
      [
        'Which packages?',
        [
          { name: 'echo: echo', value: 'echo', short: 'echo' },
          { name: 'llm: auto, mock', value: 'llm', short: 'llm' },
        ],
      ],
      [
        'Which modules?',
        [
          { name: 'llm/auto  Any model. (is in modules/ already)', value: 'llm/auto', short: 'llm/auto' },
          { name: 'llm/mock  A script.', value: 'llm/mock', short: 'llm/mock' },
        ],
      ],
    ])
  })

  it('prompts no further if no package is chosen', async () => {
    let asked = 0
    const chosen = await chooseItems(offers, async () => {
      asked++
      return []
    })
    expect([chosen, asked]).to.deep.equal([[], 1])
  })
})

describe('an ejected module', () => {
  afterEach(closeServers)

  it('is used at once, as is every edit, without a change of the agent file', async () => {
    const server = await makeServer()
    await server.listen()
    const answer = async () => {
      const response = await server.app.inject({
        method: 'POST',
        url: '/compat/chat/completions',
        payload: chat('echo', 'hello'),
      })
      return response.json().choices?.[0].message.content
    }
    expect(await answer()).to.equal('hello')
    await callCli(['eject', '-m', 'echo', '-d', server.project.dir])
    await eventually(() => expect(server.host.describe('echo')?.modules[0]?.source).to.equal('ejected'))
    expect(await answer()).to.equal('hello')
    await edit(server.project, 'modules/echo.ts', 'config.prefix + text', 'config.prefix + text.toUpperCase()')
    await eventually(async () => expect(await answer()).to.equal('HELLO'))
  })

  itWith('Python 3.8', 'reads its neighbouring file at run time', async () => {
    const project = await makeEjected('tools/local', 'llm/offline', 'tool-loop')
    const tool = 'def fruit(name: str) -> str:\n    """Tells the colour of a fruit."""\n    return f"{name} is red"\n'
    await edit(project, 'modules/tools/lib/local/python-worker.py', 'def main(', 'def main_of_mine(')
    await project.write('tools/fruit.py', tool)
    await project.write(
      'agents/fruit.yml',
      `id: fruit
modules:
  - { id: llm, module: llm/offline }
  - { id: tools, module: tools/local, config: { files: [tools/fruit.py] } }
  - { id: orchestrator, module: orchestrator/tool-loop }
`,
    )
    expect((await callCli(['check'], { cwd: project.dir })).exitCode).to.equal(1)
    await edit(project, 'modules/tools/lib/local/python-worker.py', 'def main_of_mine(', 'def main(')
    const checked = await callCli(['check'], { cwd: project.dir })
    expect(checked.stderr).to.equal('')
    expect(checked.exitCode).to.equal(0)
  })
})
