import { symlinkSync } from 'node:fs'
import { relative } from 'node:path'
import { expect } from 'chai'
import { ResultFile, readResult } from '../../src/evals/result-file.ts'
import { makeRedact } from '../../src/redaction/redact.ts'
import { evalResult, evalRun } from '../support/eval-results.ts'
import { makeProject } from '../support/temp-project.ts'

describe('the file of a result', () => {
  it('can be read where an answer names the beginning of a private key, or a number has the digits of a secret', async () => {
    const { dir } = await makeProject()
    const file = ResultFile.create(dir, 'words', makeRedact({ DB_PASSWORD: '12345678' }))
    file.save(evalResult([evalRun('a', { output: 'It begins with -----BEGIN PRIVATE KEY-----, always.' })]))
    expect(file.problem).equal(undefined)
    expect((await readResult(file.path)).runs[0]?.output).equal('It begins with -----BEGIN PRIVATE KEY-----[redacted]')
    const metadata = { order: 123456789 }
    file.save(evalResult([evalRun('a', { scores: [{ name: 'exact', score: 1, metadata }] })]))
    expect((await readResult(file.path)).runs[0]?.scores[0]?.metadata).deep.equal({ order: '[redacted]9' })
  })

  it('is written through no link in the place of its draft', async () => {
    const project = await makeProject({ 'evals/results/x': '', 'notes.md': 'mine' })
    const file = ResultFile.create(project.dir, 'words', String)
    symlinkSync(project.path('notes.md'), `${file.path}.${process.pid}.tmp`)
    file.save(evalResult([]))
    expect(await project.read('notes.md')).equal('mine')
    expect(await project.read(relative(project.dir, file.path))).contain('"eval_result": 1')
  })
})
