import { existsSync } from 'node:fs'
import { expect } from 'chai'
import { runCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const SCRIPT = `import { AgentHost } from 'agent-host'
import { greeting } from '../lib/greeting.ts'
const host: AgentHost = new AgentHost()
await host.register({ id: 'echo', modules: [{ id: 'echo', module: 'echo', config: { prefix: greeting } }] })
console.log((await host.run('echo', process.argv.slice(2).join(' '))).text, process.env.FROM_ENV)
await host.close()
`
const FILES = {
  'agents/none.txt': '',
  'package.json': '{}',
  '.env': 'FROM_ENV=yes\n',
  'lib/greeting.ts': "export const greeting: string = 'Hi '\n",
  'scripts/ask.ts': SCRIPT,
}

describe('run', () => {
  it('runs a TypeScript file of the project with its arguments and .env, from any folder of it', async () => {
    const { dir, path } = await makeProject(FILES)
    const outcome = { exitCode: 0, stdout: 'Hi you --json yes\n', stderr: '' }
    expect(await runCli(['run', 'scripts/ask.ts', 'you', '--json'], { cwd: dir })).deep.equal(outcome)
    expect(await runCli(['run', 'ask.ts', 'you', '--json'], { cwd: path('scripts') })).deep.equal(outcome)
  })

  it('names the place of an error, and exits with 1', async () => {
    const { dir } = await makeProject({ 'a.ts': 'const n: number = 1\n\nthrow new Error(`boom ${n}`)\n' })
    const { exitCode, stderr } = await runCli(['run', 'a.ts'], { cwd: dir })
    expect([exitCode, stderr]).deep.equal([1, 'Error: a.ts:3:7: boom 1\n'])
  })

  it('explains a missing file or argument', async () => {
    const { dir, path } = await makeProject()
    const missing = await runCli(['run', 'x.ts'], { cwd: dir })
    expect([missing.exitCode, missing.stderr]).deep.equal([1, `Error: There is no file ${path('x.ts')}.\n`])
    const { exitCode, stderr } = await runCli(['run'], { cwd: dir })
    expect(exitCode).equal(2)
    expect(stderr).match(/^Error: Missing arguments:\n.*file {2}File to run/)
  })

  it('exits with the code that the file sets', async () => {
    const { dir } = await makeProject({ 'a.js': 'process.exitCode = 7\n' })
    expect((await runCli(['run', 'a.js'], { cwd: dir })).exitCode).equal(7)
  })

  it('leaves standard output to the file: a project that it opens logs to standard error', async () => {
    const { dir } = await makeProject({
      'agents/broken.yml': 'id: broken\nmodules: [{ id: main, module: ecko }]',
      'ask.ts': `import { openProject } from 'agent-host'\nawait (await openProject()).close()\nconsole.log('{}')\n`,
    })
    const { stdout, stderr } = await runCli(['run', 'ask.ts'], { cwd: dir })
    expect(stdout).equal('{}\n')
    expect(stderr).contain("The module 'ecko' was not found")
  })

  it('traces the runs of a project that the file opens, unless a setting says otherwise, and prints nothing more', async () => {
    const ask = (options: string) => `import { openProject } from 'agent-host'
const project = await openProject(${options})
console.log((await project.run('echo', 'hi')).text)
await project.close()
`
    const { dir, path } = await makeProject({
      'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]',
      'package.json': '{}',
      'untraced.ts': ask('{ debug: false }'),
      'ask.ts': ask(''),
    })
    const outcome = { exitCode: 0, stdout: 'hi\n', stderr: '' }
    expect(await runCli(['run', 'untraced.ts'], { cwd: dir })).deep.equal(outcome)
    expect(await runCli(['run', 'ask.ts'], { cwd: dir, env: { AGENT_HOST_DEBUG_UI: 'false' } })).deep.equal(outcome)
    expect(existsSync(path('debug'))).equal(false)
    expect(await runCli(['run', 'ask.ts'], { cwd: dir })).deep.equal(outcome)
    expect(existsSync(path('debug/echo.jsonl'))).equal(true)
  })
})
