import { mkdir, symlink } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { killRunning, runCli, startCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const passing = (name: string) =>
  `import { test } from 'node:test'\nconst n: number = 1\ntest('${name}', () => void n)\n`

const FAILING = "\ntest('breaks', () => { throw new Error('boom') })\n"

describe('test', () => {
  afterEach(killRunning)

  it('runs every test file below tests/ without a build', async () => {
    const { dir } = await makeProject({ 'tests/a.test.ts': passing('first'), 'tests/deep/b.test.js': JS_TEST })
    const { exitCode, stdout } = await runCli(['test'], { cwd: dir })
    expect(exitCode).to.equal(0)
    expect(stdout)
      .to.contain('first')
      .and.to.contain('second')
      .and.to.match(/pass 2\n/)
  })

  it('names the place of a failing test in its own file', async () => {
    const { dir, path } = await makeProject({ 'tests/a.test.ts': `${passing('first')}\n${FAILING}` })
    const { exitCode, stdout } = await runCli(['test'], { cwd: dir })
    expect(exitCode).to.equal(1)
    expect(stdout)
      .to.contain(`${path('tests/a.test.ts')}:`)
      .and.not.to.contain('bundle.mjs')
  })

  it('runs a named file', async () => {
    const { dir } = await makeProject({ 'tests/a.test.ts': passing('first'), 'tests/b.test.ts': passing('second') })
    const { stdout } = await runCli(['test', 'tests/b.test.ts'], { cwd: dir })
    expect(stdout)
      .to.contain('second')
      .and.to.match(/pass 1\n/)
  })

  it('runs several files, and all of a folder, relative to the current folder', async () => {
    const { path } = await makeProject({
      'agents/none.txt': '',
      'package.json': '{}',
      'tests/a.test.ts': passing('first'),
      'tests/b.test.ts': passing('second'),
      'tests/deep/c.test.ts': passing('third'),
    })
    const { stdout } = await runCli(['test', 'a.test.ts', 'deep'], { cwd: path('tests') })
    expect(stdout).to.match(/first[\s\S]*third[\s\S]*pass 2\n/)
    const { exitCode, stderr } = await runCli(['test', 'none'], { cwd: path('tests') })
    expect([exitCode, stderr]).to.deep.equal([1, `Error: There is no file ${path('tests/none')}.\n`])
  })

  it('runs each test once, where a link leads to a folder above', async () => {
    const { dir, path } = await makeProject({ 'tests/a.test.ts': passing('once') })
    await symlink('.', path('tests/again'))
    await symlink('a.test.ts', path('tests/linked.test.ts'))
    const { exitCode, stdout } = await runCli(['test'], { cwd: dir })
    expect(exitCode).to.equal(0)
    expect(stdout).to.match(/pass 2\n/)
  })

  it('--name runs only matching tests, with their exit code', async () => {
    const failing = `import { test } from 'node:test'\n${FAILING}`
    const { dir } = await makeProject({ 'tests/a.test.ts': passing('first'), 'tests/b.test.ts': failing })
    expect((await runCli(['test', '--name', 'first'], { cwd: dir })).exitCode).to.equal(0)
    expect((await runCli(['test', '--name', 'breaks'], { cwd: dir })).exitCode).to.equal(1)
  })

  it('--watch runs tests again after an edit', async () => {
    const { dir, write } = await makeProject({ 'tests/a.test.ts': passing('first') })
    const running = startCli(['test', '--watch'], { cwd: dir })
    await running.printed(/first[\s\S]*Waiting for changes\. Ctrl-C stops\./)
    await write('tests/a.test.ts', passing('changed'))
    await running.printed(/changed[\s\S]*Waiting for changes/)
    running.signal('SIGINT')
  })

  it('--coverage reports the covered lines of the project', async () => {
    const tool = 'export function sign(n: number) {\n  if (n < 0) {\n    return -1\n  }\n  return 1\n}\n'
    const test =
      "import { test } from 'node:test'\nimport { sign } from '../tools/sign.ts'\ntest('sign', () => void sign(2))\n"
    const project = await makeProject({ 'tests/a.test.ts': test, 'tools/sign.ts': tool, 'package.json': '{}' })
    const { exitCode, stderr } = await runCli(['test', '--coverage'], { cwd: project.dir })
    expect([exitCode, stderr]).to.deep.equal([
      1,
      'Error: --coverage needs the package c8, which this project does not have.\n  npm install --save-dev c8\n',
    ])
    await mkdir(project.path('node_modules'))
    await symlink(fileURLToPath(new URL('../../node_modules/c8', import.meta.url)), project.path('node_modules/c8'))
    const measured = await runCli(['test', '--coverage'], { cwd: project.dir })
    expect([measured.exitCode, measured.stderr]).to.deep.equal([0, ''])
    expect(measured.stdout).to.match(/pass 1\n[\s\S]*sign\.ts +\| +66\.66 .*\| 3-4/)
  })

  it('exits with 1 if a test fails, and shows its line', async () => {
    const failing = "import { test } from 'node:test'\n\ntest('breaks', () => {\n  throw new Error('boom')\n})\n"
    const { dir } = await makeProject({ 'tests/a.test.ts': failing })
    const { exitCode, stdout } = await runCli(['test'], { cwd: dir })
    expect(exitCode).to.equal(1)
    expect(stdout).to.contain('boom').and.to.contain('tests/a.test.ts:4:')
  })

  it('exits with 1 if a file fails to load, or there is none', async () => {
    const { dir } = await makeProject({ 'tests/a.test.ts': "import './nothing.ts'\n" })
    const broken = await runCli(['test'], { cwd: dir })
    expect(broken.exitCode).to.equal(1)
    expect(broken.stderr).to.contain('tests/a.test.ts:1:8: Could not resolve "./nothing.ts"')
    const { dir: empty } = await makeProject()
    expect(await runCli(['test'], { cwd: empty })).to.deep.equal({
      exitCode: 1,
      stdout: '',
      stderr: 'Error: There are no tests: no file tests/*.test.ts.\n',
    })
  })
})

const JS_TEST = "import { test } from 'node:test'\ntest('second', () => {})\n"
