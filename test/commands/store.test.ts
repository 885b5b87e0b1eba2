import { copyFileSync, promises, readFileSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { expect } from 'chai'
import Database from 'libsql'
import { openStore } from '../../src/store/open-store.ts'
import type { RecordStore } from '../../src/store/record-store.ts'
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { claimFormat } from '../../src/store/store-format.ts'
import { walkStore } from '../../src/store/walk-store.ts'
import { callCli } from '../support/call-cli.ts'
import { runCli } from '../support/run-cli.ts'
import { hasPostgres, startPostgres } from '../support/store-servers.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'

describe('agent-host store', () => {
  let project: TempProject
  const cli = (...args: string[]) => callCli(['store', ...args], { cwd: project.dir })
  const open = (store = 'sqlite') => openStore({ store, dir: project.path('responses'), projectDir: project.dir })

  beforeEach(async () => {
    project = await makeProject({ 'agents/a.yml': 'id: a\nmodules: [{ id: main, module: echo }]' })
  })

  async function fill(records = 1200): Promise<[string, string][]> {
    const store = await open()
    await claimFormat(store)
    const entries = Array.from({ length: records }, (_, n): [string, string] => [
      `${n % 2 ? 'response' : 'turn'}:${n}`,
      JSON.stringify({ n, text: `ü😀"\u2028 ${'x'.repeat(n % 300)}` }),
    ])
    await store.commit(entries)
    await store.close()
    entries.push(['~format', '5'])
    return entries.sort(([one], [other]) => (one < other ? -1 : 1))
  }

  it('backup and restore preserve every byte, and replace nothing without --force', async () => {
    const entries = await fill()
    const server = await open()
    expect(await cli('backup', 'copy.db')).to.deep.include({
      exitCode: 0,
      stdout: `Created ${project.path('copy.db')}.\n`,
    })
    expect((statSync(project.path('copy.db')).mode & 0o777).toString(8)).to.equal('600')
    expect((await cli('backup', 'copy.db')).stderr).to.include('copy.db already exists; nothing changed.')
    expect((await cli('restore', 'copy.db')).stderr).to.include('already exists; nothing changed.')
    expect((await cli('restore', 'copy.db', '--force')).stderr).to.match(/A server uses .*; nothing changed/)
    await server.commit([['response:late', '1']])
    await server.close()
    await project.write('broken.db', 'no database '.repeat(1000))
    expect((await cli('restore', 'broken.db', '--force')).stderr).to.match(/broken\.db is no backup; nothing changed/)
    await project.write('empty.db', '')
    expect((await cli('restore', 'empty.db', '--force')).stderr).to.match(/empty\.db is no backup; nothing changed/)
    const failure = async (file: string) => (await cli('restore', file, '--force')).stderr
    expect(await failure('agents')).to.match(/^Error: .*agents cannot be read; nothing changed/)
    expect(await failure('none.db')).to.match(/^Error: There is no file .*none\.db\. Nothing changed\.\n$/)
    const before = await open()
    expect(await before.get(['response:late'])).to.deep.equal(['1'])
    await before.close()
    expect(await cli('restore', 'copy.db', '--force')).to.deep.include({ exitCode: 0 })
    const store = await open()
    expect(await readAll(store)).to.deep.equal(entries)
    await store.close()
  })

  it('backup writes a file that its owner alone can read from the beginning, and leaves none that is not whole', async () => {
    await fill(10)
    const { backup } = SqliteStore.prototype
    let mode = 0
    SqliteStore.prototype.backup = async (file) => {
      writeFileSync(file, 'half of it')
      mode = statSync(file).mode & 0o777
      throw new Error('the disk is full')
    }
    try {
      expect((await cli('backup', 'copy.db')).stderr).to.include('the disk is full')
    } finally {
      SqliteStore.prototype.backup = backup
    }
    expect([mode.toString(8), project.exists('copy.db')]).to.deep.equal(['600', false])
    expect((await cli('backup', 'copy.db')).exitCode).to.equal(0)
    expect((await cli('backup', 'none/copy.db')).stderr).to.match(/copy\.db cannot be written: .*; nothing changed/)
  })

  it('copy makes no store where there is none to copy', async () => {
    const { exitCode, stderr } = await cli('copy', 'sqlite', 'memory')
    expect([exitCode, stderr]).to.deep.include(1)
    expect(stderr).to.include('does not exist: nothing is stored yet.')
    expect(project.exists('responses/responses.db')).to.equal(false)
  })

  it('restore leaves what is stored now until the backup takes its place', async () => {
    await fill()
    await cli('backup', 'copy.db')
    const server = await open()
    await server.commit([['response:late', '1']])
    await server.close()
    const { rename } = promises
    promises.rename = () => Promise.reject(new Error('the disk is gone'))
    syncBuiltinESMExports()
    try {
      expect((await cli('restore', 'copy.db', '--force')).stderr).to.include('the disk is gone')
    } finally {
      promises.rename = rename
      syncBuiltinESMExports()
    }
    const store = await open()
    expect(await store.get(['response:late'])).to.deep.equal(['1'])
    await store.close()
    expect(project.exists('responses/responses.db.restored')).to.equal(false)
  })

  it('restore takes nothing from a restore that was killed', async () => {
    const entries = await fill()
    await cli('backup', 'copy.db')
    // The log of the killed one, as SQLite leaves it.
    const [other, log] = [project.path('other/responses.db'), project.path('responses/responses.db.restored-wal')]
    const killed = await openStore({ store: 'sqlite', dir: project.path('other'), projectDir: project.dir })
    await killed.commit([['response:of-another-backup', '1']])
    copyFileSync(`${other}-wal`, log)
    await killed.close()
    expect(await cli('restore', 'copy.db', '--force')).to.deep.include({ exitCode: 0 })
    const store = await open()
    expect(await readAll(store)).to.deep.equal(entries)
    await store.close()
    expect(project.exists('responses/responses.db.restored-wal')).to.equal(false)
  })

  it('restore waits for signs of servers elsewhere: one that died in its container does not refuse it for ever', async () => {
    await fill()
    await cli('backup', 'copy.db')
    const file = new Database(project.path('responses/responses.db'))
    file.exec('PRAGMA busy_timeout = 3000')
    const sign = (ms: number) =>
      file.prepare('INSERT OR REPLACE INTO servers VALUES (?, ?, ?)').run('other', 'container 7 ', ms)
    sign(0)
    let signs = 0
    const living = setInterval(() => sign(++signs), 100)
    const refused = await cli('restore', 'copy.db', '--force')
    clearInterval(living)
    expect(refused.stderr).to.match(/A server uses .*; nothing changed/)
    file.close()
    expect(await cli('restore', 'copy.db', '--force')).to.deep.include({ exitCode: 0 })
  })

  it('names a file that is no database', async () => {
    await project.write('responses/responses.db', 'no database '.repeat(1000))
    const file = project.path('responses/responses.db')
    for (const args of [['check'], ['backup', 'copy.db'], ['migrate', '--dry-run'], ['migrate']]) {
      const { exitCode, stderr } = await cli(...args)
      expect([exitCode, stderr.split('\n')[0]], args.join(' ')).to.deep.equal([
        1,
        `Error: ${args[0] === 'migrate' ? 'The store ' : ''}${file} cannot be opened: file is not a database`,
      ])
    }
  })

  it('check counts records, and finds a damaged record and a damaged file', async () => {
    expect((await cli('check')).stderr).to.include('does not exist: nothing is stored yet.')
    await fill(100)
    const whole = await runCli(['store', 'check'], { cwd: project.dir })
    expect([whole.exitCode, whole.stdout]).to.deep.equal([
      0,
      '      50  stored responses\n      50  turns of conversations\n       1  internal records\nNothing is damaged.\n',
    ])
    const store = await open()
    await store.commit([['turn:x', '{"half":']])
    await store.close()
    const one = await cli('check')
    expect([one.exitCode, one.stderr]).to.deep.include(1)
    expect(one.stderr).to.include("The record 'turn:x' is damaged.")
    const file = project.path('responses/responses.db')
    const bytes = readFileSync(file)
    bytes.fill(0xff, 4096 * 3, 4096 * 5)
    writeFileSync(file, bytes)
    expect((await cli('check')).exitCode).to.equal(1)
  })

  it('check writes nothing into an empty store, which can still be copied to', async () => {
    await (await openStore({ store: 'sqlite', dir: project.path('target'), projectDir: project.dir })).close()
    expect((await cli('check', '--responses-dir', 'target')).exitCode).to.equal(0)
    const target = await openStore({ store: 'sqlite', dir: project.path('target'), projectDir: project.dir })
    expect(await readAll(target)).to.deep.equal([])
    await target.close()
  })

  it('migrate lists the missing steps, runs them, and then has nothing to do', async () => {
    const dry = await cli('migrate', '--dry-run')
    expect(dry.stdout).to.equal('Missing: table of records\nMissing: table of servers\n')
    expect(project.exists('responses/responses.db')).to.equal(false)
    expect((await cli('migrate')).stdout).to.equal('Added: table of records\nAdded: table of servers\n')
    expect((await cli('migrate')).stdout).to.equal('The layout of the store is up to date.\n')
  })

  it('copy copies a project to PostgreSQL byte for byte, into an empty store only', async function () {
    if (!hasPostgres()) this.skip()
    const entries = await fill()
    const server = await startPostgres()
    try {
      expect((await cli('migrate', '--dry-run', '--store', server.url)).stdout).to.match(/^Missing: tables of records/)
      expect((await cli('copy', 'sqlite', server.url)).stdout).to.equal('Copied 1201 records.\n')
      expect((await cli('copy', 'sqlite', server.url)).stderr).to.include('is not empty; nothing changed.')
      const store = await open(server.url)
      expect(await readAll(store)).to.deep.equal(entries)
      await store.close()
      expect((await cli('backup', 'x.db', '--store', server.url)).stderr).to.include('pg_dump')
    } finally {
      await server.remove()
    }
  })
})

async function readAll(store: RecordStore): Promise<(readonly [string, string])[]> {
  const all: (readonly [string, string])[] = []
  for await (const page of walkStore(store)) all.push(...page)
  return all
}
