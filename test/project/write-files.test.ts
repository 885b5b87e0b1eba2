import { chmod, readdir, stat, symlink } from 'node:fs/promises'
import { expect } from 'chai'
import fsExtra from 'fs-extra'
import { writeFiles } from '../../src/project/write-files.ts'
import { makeProject } from '../support/temp-project.ts'

describe('writeFiles', () => {
  it('creates files and their folders with their modes, and reports each in the order of the plan', async () => {
    const { dir, path, read } = await makeProject()
    const written = await writeFiles(dir, [
      { path: 'b/c.txt', content: 'text' },
      { path: 'a.key', content: Buffer.from('bytes'), mode: 0o600 },
    ])
    expect(written).to.deep.equal([
      { path: 'b/c.txt', outcome: 'created' },
      { path: 'a.key', outcome: 'created' },
    ])
    expect([await read('b/c.txt'), await read('a.key')]).to.deep.equal(['text', 'bytes'])
    expect((await stat(path('a.key'))).mode & 0o777).to.equal(0o600)
    expect((await readdir(dir)).sort()).to.deep.equal(['a.key', 'b'])
  })

  it('skips existing files, whatever their content', async () => {
    const { dir, read } = await makeProject({ 'a.txt': 'mine' })
    expect(await writeFiles(dir, [{ path: 'a.txt', content: 'theirs' }])).to.deep.equal([
      { path: 'a.txt', outcome: 'skipped' },
    ])
    expect(await read('a.txt')).to.equal('mine')
  })

  it('replaces planned files, keeping their mode, and through a link', async () => {
    const { dir, path, read, write } = await makeProject()
    await write('real.txt', 'old')
    await chmod(path('real.txt'), 0o640)
    await symlink('real.txt', path('link.txt'))
    const written = await writeFiles(dir, [
      { path: 'link.txt', content: 'new', replaces: true },
      { path: 'other.txt', content: 'other', replaces: true },
    ])
    expect(written.map(({ outcome }) => outcome)).to.deep.equal(['updated', 'created'])
    expect([await read('real.txt'), await read('other.txt')]).to.deep.equal(['new', 'other'])
    expect((await stat(path('real.txt'))).mode & 0o777).to.equal(0o640)
    expect((await readdir(dir)).sort()).to.deep.equal(['link.txt', 'other.txt', 'real.txt'])
  })

  it('writes nothing if a link is in the path of its own files', async () => {
    const { dir, path, read, exists } = await makeProject({ 'elsewhere/a.txt': 'theirs' })
    await symlink('elsewhere', path('own'))
    for (const name of ['own/a.txt', 'own/new.txt']) {
      const plan = [
        { path: 'other.txt', content: 'x' },
        { path: name, content: 'new', replaces: true, isOwn: true },
      ]
      const failure = await writeFiles(dir, plan).catch((error: Error) => error.message)
      expect(failure).to.equal('own is a link. Remove it.')
    }
    expect([await read('elsewhere/a.txt'), exists('elsewhere/new.txt'), exists('other.txt')]).to.deep.equal([
      'theirs',
      false,
      false,
    ])
  })

  it('creates whole files where the file system has no hard links, and skips existing ones', async () => {
    const { dir, path, read } = await makeProject()
    const files: { link: unknown } = fsExtra
    const { link } = files
    // What Linux answers on FAT and exFAT.
    const refuse = async () => {
      throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM' })
    }
    files.link = refuse
    try {
      const plan = [{ path: 'a.key', content: 'text', mode: 0o600 }]
      expect(await writeFiles(dir, plan)).to.deep.equal([{ path: 'a.key', outcome: 'created' }])
      expect([await read('a.key'), (await stat(path('a.key'))).mode & 0o777]).to.deep.equal(['text', 0o600])
      await symlink('nowhere', path('gone'))
      expect(await writeFiles(dir, [{ path: 'gone', content: 'text' }])).to.deep.equal([
        { path: 'gone', outcome: 'skipped' },
      ])
      expect((await readdir(dir)).sort()).to.deep.equal(['a.key', 'gone'])
    } finally {
      files.link = link
    }
  })

  it('only reports in a dry run', async () => {
    const { dir, read } = await makeProject({ 'a.txt': 'mine', 'b.txt': 'mine' })
    const plan = [
      { path: 'a.txt', content: 'theirs' },
      { path: 'b.txt', content: 'theirs', replaces: true },
      { path: 'c/d.txt', content: 'theirs' },
    ]
    const written = await writeFiles(dir, plan, { dryRun: true })
    expect(written.map(({ outcome }) => outcome)).to.deep.equal(['skipped', 'updated', 'created'])
    expect([await read('b.txt'), (await readdir(dir)).sort()]).to.deep.equal(['mine', ['a.txt', 'b.txt']])
  })

  it('two concurrent writers: one creates the whole file, the other skips it', async () => {
    const { dir, read } = await makeProject()
    const content = 'x'.repeat(1_000_000)
    const plan = [{ path: 'a.txt', content }]
    const [first, second] = await Promise.all([writeFiles(dir, plan), writeFiles(dir, plan)])
    expect([first[0]?.outcome, second[0]?.outcome].sort()).to.deep.equal(['created', 'skipped'])
    expect(await read('a.txt')).to.equal(content)
    expect(await readdir(dir)).to.deep.equal(['a.txt'])
  })
})
