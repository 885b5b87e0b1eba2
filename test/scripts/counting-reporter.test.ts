import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { runNode } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const MOCHA = fileURLToPath(new URL('../../node_modules/mocha/bin/mocha.js', import.meta.url))
const REPORTER = fileURLToPath(new URL('../../.ci/counting-reporter.cjs', import.meta.url))
const FLAKY = `let runs = 0
describe('a suite', () => {
  it('holds', () => {})
  it('holds when it is repeated', () => { if (++runs < 3) throw new Error('not yet') })
  it('fails', () => { throw new Error('never') })
  it('is skipped')
})`

describe('the reporter of CI', () => {
  it('names the tests that failed, and those that had to be repeated, of every process', async () => {
    const project = await makeProject({ 'one.test.cjs': FLAKY, 'two.test.cjs': FLAKY })
    const report = ['--reporter', REPORTER, '--reporter-option', `output=${project.path('report')}`]
    const args = [
      MOCHA,
      '--no-config',
      '--parallel',
      '--jobs',
      '2',
      '--retries',
      '2',
      ...report,
      'one.test.cjs',
      'two.test.cjs',
    ]
    const { exitCode } = await runNode(args, { cwd: project.dir })
    expect(exitCode).to.equal(2)
    const lines = (await project.read('report')).trimEnd().split('\n')
    expect([lines.slice(0, 2).sort(), lines.slice(2, 4).sort(), lines.slice(4)]).to.deep.equal([
      [
        'Repeated: one.test.cjs: a suite holds when it is repeated: "not yet"',
        'Repeated: two.test.cjs: a suite holds when it is repeated: "not yet"',
      ],
      ['Failed: one.test.cjs: a suite fails', 'Failed: two.test.cjs: a suite fails'],
      ['4 passed, 2 failed, 2 skipped'],
    ])
  })
})
