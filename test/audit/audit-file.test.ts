import { execFile } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { AuditFile } from '../../src/audit/audit-file.ts'
import { makeProject } from '../support/temp-project.ts'

const SCRIPT = fileURLToPath(new URL('../support/audit-process.ts', import.meta.url))

describe('the file of an audit log', () => {
  let dir: string
  let path: string

  beforeEach(async () => {
    dir = (await makeProject()).dir
    path = join(dir, 'audit.jsonl')
  })

  const modeOf = (file: string) => statSync(file).mode & 0o777

  it('is for its owner alone, also where it was there before', () => {
    writeFileSync(path, 'earlier\n')
    chmodSync(path, 0o644)
    new AuditFile(path).append('one')
    expect([readFileSync(path, 'utf8'), modeOf(path)]).to.deep.equal(['earlier\none\n', 0o600])
    renameSync(path, `${path}.moved`)
    new AuditFile(path).append('two')
    expect([readFileSync(path, 'utf8'), modeOf(path)]).to.deep.equal(['two\n', 0o600])
  })

  it('keeps a line apart from one that was cut off', () => {
    writeFileSync(path, '{"half":')
    new AuditFile(path).append('whole')
    expect(readFileSync(path, 'utf8')).to.equal('{"half":\nwhole\n')
  })

  it('takes no line where there is a folder, or no room', () => {
    mkdirSync(path)
    expect(() => new AuditFile(path).append('one')).to.throw('EISDIR')
    const full = join(dir, 'full')
    symlinkSync('/dev/full', full)
    expect(() => new AuditFile(full).append('one')).to.throw('ENOSPC')
  })

  it('has every line once and whole while two processes write, and it is renamed', async () => {
    const names = ['one', 'two']
    const node = ['--import=tsx', '--conditions=agent-host-source']
    const run = (...own: string[]) =>
      promisify(execFile)(process.execPath, [...node, SCRIPT, path, ...own, '2000', '20000'])
    await Promise.all([run('one', 'two'), run('two', 'one')])
    const files = readdirSync(dir).filter((file) => !file.includes('is-open'))
    const lines = files.flatMap((file) => readFileSync(join(dir, file), 'utf8').split('\n').slice(0, -1))
    const seen = lines.map((line) => JSON.parse(line)).map(({ name, number }) => `${name} ${number}`)
    expect(files.length).to.be.greaterThan(20)
    const all = names.flatMap((name) => Array.from({ length: 2000 }, (_, number) => `${name} ${number}`))
    expect(seen.sort()).to.deep.equal(all.sort())
  })
})
