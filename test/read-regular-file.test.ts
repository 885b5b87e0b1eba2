import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { truncate } from 'node:fs/promises'
import { messageOf, readRegularFile } from 'agent-host'
import { expect } from 'chai'
import { readRegularFileSync } from '../src/read-regular-file.ts'
import { takeTurns } from './support/take-turns.ts'
import { makeProject } from './support/temp-project.ts'

const PIPE = 'it is not a regular file'
const OUT = 'a link leads out of its folder'

describe('reading a regular file', () => {
  it('follows links, and refuses pipes, devices, folders and what is too large, without waiting for them', async () => {
    const { path } = await makeProject({ 'own/a.txt': 'own text', 'large.txt': '' })
    await truncate(path('large.txt'), 11)
    symlinkSync('own/a.txt', path('link'))
    symlinkSync('/dev/zero', path('zeros'))
    execFileSync('mkfifo', [path('pipe')])
    const ways = [
      (file: string) => readRegularFile(file, { maxBytes: 10 }).then(String, messageOf),
      async (file: string) => {
        try {
          return String(readRegularFileSync(file, 10))
        } catch (error) {
          return messageOf(error)
        }
      },
    ]
    for (const read of ways) {
      expect(await read(path('link'))).equal('own text')
      expect(await read(path('zeros'))).equal(PIPE)
      expect(await read(path('pipe'))).equal(PIPE)
      expect(await read(path('own'))).equal('EISDIR: it is a directory')
      expect(await read(path('large.txt'))).equal('it has more than 10 bytes')
      expect(await read(path('none'))).match(/^ENOENT/)
    }
  })

  it('reads a file that says it is empty to its end, and takes no more than its limit', async function () {
    if (process.platform !== 'linux') this.skip()
    const read = (maxBytes: number) => readRegularFile('/proc/self/status', { maxBytes }).then(() => 'read', messageOf)
    expect([await read(100_000), await read(10)]).deep.equal(['read', 'it has more than 10 bytes'])
    // The last of its lines: the file is longer than what is read at first.
    const text = String(await readRegularFile('/proc/self/status'))
    expect(text.length).to.be.greaterThan(1024)
    expect(text).to.match(/\nnonvoluntary_ctxt_switches:\t\d+\n$/)
  })

  it('needs no more memory than the files have', async () => {
    const { path } = await makeProject({ 'a.txt': 'a'.repeat(1500), 'empty.txt': '' })
    const before = process.memoryUsage().arrayBuffers
    const read = await Promise.all(Array.from({ length: 50 }, () => readRegularFile(path('a.txt'))))
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(1024 * 1024)
    expect(read.map(String)).to.deep.equal(read.map(() => 'a'.repeat(1500)))
    expect(String(await readRegularFile(path('empty.txt')))).to.equal('')
  })

  it('stays within a folder, whatever links are in it or on the way', async () => {
    const { path } = await makeProject({ 'in/a.txt': 'inside', 'in/sub/b.txt': 'below', 'inner/c.txt': 'canary' })
    symlinkSync('sub/b.txt', path('in/stays'))
    symlinkSync('../inner/c.txt', path('in/leaves'))
    symlinkSync('../inner', path('in/folder'))
    const read = (file: string) => readRegularFile(path(file), { within: path('in') }).then(String, messageOf)
    expect(await read('in/a.txt')).equal('inside')
    expect(await read('in/stays')).equal('below')
    expect(await read('in/leaves')).equal(OUT)
    expect(await read('in/folder/c.txt')).equal(OUT)
    expect(await read('inner/c.txt')).equal(OUT)
  })

  it('never reads outside a folder while a file and a link to elsewhere take turns under one name', async () => {
    const { path } = await makeProject({ 'in/a.txt': 'inside', 'out/a.txt': 'canary' })
    const stop = takeTurns(path('in/a.txt'), 'inside', path('out/a.txt'))
    const seen = new Set<string>()
    for (let count = 0; count < 300; count++)
      seen.add(await readRegularFile(path('in/a.txt'), { within: path('in') }).then(String, messageOf))
    stop()
    expect([...seen].sort()).deep.equal([OUT, 'inside'])
  })
})
