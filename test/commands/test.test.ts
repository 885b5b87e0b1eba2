import { expect } from 'chai'
import { runCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const passing = (name: string) =>
  `import { test } from 'node:test'\nconst n: number = 1\ntest('${name}', () => void n)\n`

describe('test', () => {
  it('runs every test file below tests/ as it is', async () => {
    const { dir } = await makeProject({ 'tests/a.test.ts': passing('first'), 'tests/deep/b.test.js': JS_TEST })
    const { exitCode, stdout } = await runCli(['test'], { cwd: dir })
    expect(exitCode).to.equal(0)
    expect(stdout)
      .to.contain('first')
      .and.to.contain('second')
      .and.to.match(/pass 2\n/)
  })

  it('runs one file when it is named', async () => {
    const { dir } = await makeProject({ 'tests/a.test.ts': passing('first'), 'tests/b.test.ts': passing('second') })
    const { stdout } = await runCli(['test', 'tests/b.test.ts'], { cwd: dir })
    expect(stdout)
      .to.contain('second')
      .and.to.match(/pass 1\n/)
  })

  it('ends with 1 when a test fails, and points at its line', async () => {
    const failing = "import { test } from 'node:test'\n\ntest('breaks', () => {\n  throw new Error('boom')\n})\n"
    const { dir } = await makeProject({ 'tests/a.test.ts': failing })
    const { exitCode, stdout } = await runCli(['test'], { cwd: dir })
    expect(exitCode).to.equal(1)
    expect(stdout).to.contain('boom').and.to.contain('tests/a.test.ts:4:')
  })

  it('ends with 1 when a file cannot be loaded, or there is none', async () => {
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
