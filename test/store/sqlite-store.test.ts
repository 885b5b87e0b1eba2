import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import Database from 'libsql'
import { openStore } from '../../src/store/open-store.ts'
import type { RecordStore } from '../../src/store/record-store.ts'
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { describeRecordStore } from '../suites/record-store-suite.ts'
import { eventually } from '../support/eventually.ts'
import { makeProject } from '../support/temp-project.ts'
import { withThreads } from '../support/threads.ts'

describe('the SQLite store', () => {
  let dir: string
  const open = () => openStore({ store: 'sqlite', dir, projectDir: dir })

  beforeEach(async () => {
    dir = join((await makeProject()).dir, 'responses')
  })

  describeRecordStore(open, open)

  it('is readable only by its owner', async () => {
    const store = await open()
    await store.commit([['a', '1']])
    const modes = readdirSync(dir).map((name) => [name, (statSync(join(dir, name)).mode & 0o777).toString(8)])
    expect(Object.fromEntries(modes)).to.deep.equal({
      'responses.db': '600',
      'responses.db-shm': '600',
      'responses.db-wal': '600',
    })
    expect((statSync(dir).mode & 0o777).toString(8)).to.equal('700')
    await store.close()
  })

  it('opens no named pipe, folder or device, and leaves their modes as they are', async function () {
    if (process.platform === 'win32') this.skip()
    const file = join(dir, 'responses.db')
    mkdirSync(dir)
    for (const make of [
      () => execFileSync('mkfifo', ['-m', '644', file]),
      () => mkdirSync(file, { mode: 0o755 }),
      () => symlinkSync('/dev/zero', file),
    ]) {
      make()
      const { mode } = statSync(file)
      expect((await open().catch(({ message }: Error) => message)) as string).to.contain('cannot be opened')
      expect(statSync(file).mode).to.equal(mode)
      rmSync(file, { recursive: true })
    }
  })

  it('writes the table and the values of @keyv/sqlite', async () => {
    const store = await open()
    await store.commit([['response:a', '{"b":1}']])
    await store.close()
    const db = new Database(join(dir, 'responses.db'))
    expect(db.prepare('SELECT key, value FROM keyv').all()).to.deep.equal([
      { key: 'keyv:response:a', value: '{"value":{"b":1}}' },
    ])
    db.close()
  })

  it('keeps everything acknowledged, and nothing by half, when the process is killed', async () => {
    let acknowledged: string[] = []
    for (let round = 0; round < 3; round++) {
      const { child, lines } = await startProcess('write')
      await eventually(() => expect(lines().length).to.be.greaterThan(200), 20_000)
      await kill(child)
      acknowledged = [
        ...acknowledged,
        ...lines()
          .filter((line) => line.startsWith('done '))
          .map((line) => line.slice(5)),
      ]
    }
    const store = await open()
    const ones = await listAll(store, 'one:')
    const twos = new Set(await listAll(store, 'two:'))
    expect(ones.filter((key) => !twos.has(key))).to.deep.equal([])
    expect(twos.size).to.equal(ones.length)
    expect(acknowledged.filter((key) => !twos.has(key))).to.deep.equal([])
    await store.close()
  })

  it('knows which servers are alive, and notices the end of a process on this machine at once', async () => {
    const store = await open()
    const { child, lines } = await startProcess('wait')
    await eventually(() => expect(lines()[0]).to.match(/^server /), 20_000)
    const other = lines()[0]?.slice(7) as string
    expect(await store.isServerAlive(other)).to.equal(true)
    await kill(child)
    expect(await store.isServerAlive(other)).to.equal(false)
    await store.close()
  })

  it('takes no neighbour for dead whose clock is a year behind: its own may be ahead', async () => {
    const store = await open()
    const db = new Database(join(dir, 'responses.db'))
    const yearMs = 365 * 24 * 60 * 60 * 1000
    db.prepare('INSERT INTO servers VALUES (?, ?, ?)').run(['other', 'another-machine 1 1', Date.now() - yearMs])
    db.close()
    await (await open()).close()
    expect(await store.isServerAlive('other')).to.equal(true)
    await store.close()
  })

  it('works with a file of an earlier or later version', async () => {
    mkdirSync(dir, { recursive: true })
    const file = join(dir, 'responses.db')
    const earlier = new Database(file)
    earlier.exec('CREATE TABLE keyv (key VARCHAR(255) PRIMARY KEY, value TEXT)')
    earlier.exec(`INSERT INTO keyv VALUES ('keyv:a', '{"value":1}')`)
    earlier.close()
    await (await open()).close()
    const later = new Database(file)
    later.exec('PRAGMA user_version = 99')
    later.exec('CREATE TABLE of_a_later_version (id TEXT)')
    later.close()
    const store = await open()
    expect(await store.get(['a'])).to.deep.equal(['1'])
    expect(await store.isServerAlive(store.serverId)).to.equal(true)
    await store.close()
    const db = new Database(file)
    expect(db.pragma('user_version')).to.deep.equal([{ user_version: 99 }])
    db.close()
  })

  it('shows commits of one server to another', async () => {
    const [one, other] = [await open(), await open()]
    await one.commit([['a', '1']])
    expect(await other.get(['a'])).to.deep.equal(['1'])
    expect(await other.commit([['a', '2']], { absent: ['a'] })).to.equal(false)
    await one.close()
    await other.close()
  })

  it('hears of each commit of another server, also after silence', async () => {
    const [one, other] = [await open(), await open()]
    let heard = 0
    const end = one.watch(['topic'], () => heard++)
    for (const silenceMs of [0, 5, 30, 400]) {
      await wait(silenceMs)
      const before = heard
      await other.commit([['a', `${silenceMs}`]])
      await eventually(() => expect(heard).to.be.greaterThan(before), 2000)
    }
    end()
    await one.close()
    await other.close()
  })

  it('hears of each commit since the call of watch, also while its thread waits for the lock', async () => {
    const store = await open()
    const other = new Database(join(dir, 'responses.db'))
    for (const key of ['first', 'again']) {
      other.exec('BEGIN IMMEDIATE')
      const own = store.commit([['own', '1']])
      // The thread has the commit, and begins nothing else before it is done.
      await nextTurn()
      let heard = 0
      const end = store.watch(['topic'], () => heard++)
      other.exec(`INSERT INTO keyv VALUES ('keyv:${key}', '{"value":1}')`)
      other.exec('COMMIT')
      await own
      await eventually(() => expect(heard).to.be.greaterThan(0), 2000)
      end()
      // Longer than the thread goes on watching for nobody.
      await wait(1100)
    }
    other.close()
    await store.close()
  })

  it('serves other work and earlier records while another process holds the lock, and recovers', async () => {
    const store = await open()
    await store.commit([['a', '1']])
    const other = new Database(join(dir, 'responses.db'))
    other.exec('BEGIN IMMEDIATE')
    const commit = store.commit([['b', '2']]).catch((error: Error) => error)
    const longest = await longestTurn(async () => {
      expect(await store.get(['a'])).to.deep.equal(['1'])
      expect(await commit).to.include({ code: 'STORE_UNAVAILABLE' })
    })
    expect(longest).to.be.lessThan(500)
    expect(await store.get(['a', 'b'])).to.deep.equal(['1', undefined])
    other.exec('ROLLBACK')
    other.close()
    expect(await store.commit([['b', '2']])).to.equal(true)
    await store.close()
  })

  it('applies the other commits of a batch if one fails', async () => {
    const store = await open()
    const db = new Database(join(dir, 'responses.db'))
    db.exec(
      "CREATE TRIGGER refuse BEFORE INSERT ON keyv WHEN NEW.key = 'keyv:bad' BEGIN SELECT RAISE(ABORT, 'refused'); END",
    )
    db.close()
    // Asked for in one turn of the event loop, they are one batch.
    const commits = ['a', 'bad', 'b'].map((key) =>
      store.commit([
        [`with:${key}`, '1'],
        [key, '1'],
      ]),
    )
    const outcomes = await Promise.allSettled(commits)
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled'])
    expect(await store.list({ prefix: '', limit: 10 })).to.deep.equal(['a', 'b', 'with:a', 'with:b'])
    await store.close()
  })

  it('erases deleted records from every file', async () => {
    const store = await open()
    for (let n = 0; n < 50; n++) {
      await store.commit([[`a${n}`, JSON.stringify(`canary-${'c'.repeat(n * 100)}`)]])
      await store.commit([[`a${n}`, JSON.stringify('shorter')]])
    }
    await store.commit([['b', JSON.stringify(`canary-${'d'.repeat(10_000)}`)]])
    expect(readdirSync(dir).some((name) => holds(join(dir, name), 'canary'))).to.equal(true)
    await store.commit([['b', undefined]])
    let isGone = false
    const others = (async () => {
      for (let n = 0; !isGone; n++) {
        await store.commit([[`c${n}`, '1']])
        await store.commit([[`c${n}`, undefined]])
      }
    })()
    await eventually(() => expect(readdirSync(dir).some((name) => holds(join(dir, name), 'canary'))).to.equal(false))
    isGone = true
    await others
    await store.close()
  })

  it('reads what another process commits after its lock has refused a sign of life', async () => {
    const store = await open()
    await store.commit([['a', '1']])
    const other = new Database(join(dir, 'responses.db'))
    other.exec('BEGIN IMMEDIATE')
    // The sign waits for the lock for half a second, and reads wait for the sign.
    for (let tookMs = 0; tookMs < 300; ) {
      const beganMs = performance.now()
      await store.get(['a'])
      tookMs = performance.now() - beganMs
    }
    other.exec('COMMIT')
    for (const key of ['b', 'c', 'd']) {
      other.exec(`INSERT INTO keyv VALUES ('keyv:${key}', '{"value":1}')`)
      expect(await store.get([key])).to.deep.equal(['1'])
    }
    other.close()
    await store.close()
  }).timeout(20_000)

  it('erases records deleted while another process was reading', async () => {
    const store = await open()
    await store.commit([['a', '"canary"']])
    const other = new Database(join(dir, 'responses.db'))
    other.exec('BEGIN')
    other.prepare('SELECT * FROM keyv').all()
    await store.commit([['a', undefined]])
    await store.purge()
    expect(readdirSync(dir).some((name) => holds(join(dir, name), 'canary'))).to.equal(true)
    other.exec('ROLLBACK')
    other.close()
    await eventually(() => expect(readdirSync(dir).some((name) => holds(join(dir, name), 'canary'))).to.equal(false))
    await store.close()
  })

  it('skips requests that nobody waits for any more', async () => {
    const store = await SqliteStore.open(join(dir, 'responses.db'), undefined, 1500)
    const other = new Database(join(dir, 'responses.db'))
    other.exec('BEGIN IMMEDIATE')
    const inTime = store.commit([['a', '1']])
    // It goes to the thread, and the others wait for its end.
    await nextTurn()
    const late = Promise.allSettled([store.commit([['b', '2']]), store.get(['a'])])
    await wait(1600)
    other.exec('ROLLBACK')
    other.close()
    expect(await inTime).to.equal(true)
    expect((await late).map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    expect(await store.get(['a', 'b'])).to.deep.equal(['1', undefined])
    await store.close()
  })

  it('refuses requests once its folder is removed, until it is back', async () => {
    const store = await open()
    await store.commit([['a', '1']])
    renameSync(dir, `${dir}-moved`)
    const failures = await Promise.all(
      [store.get(['a']), store.commit([['b', '2']])].map((work) => work.catch((error) => error)),
    )
    for (const failure of failures) {
      expect(failure).to.include({ code: 'STORE_UNAVAILABLE' })
      expect(failure.message).to.match(/responses\.db was removed or replaced while the server runs\. Put it back/)
    }
    renameSync(`${dir}-moved`, dir)
    expect(await store.get(['a'])).to.deep.equal(['1'])
    rmSync(dir, { recursive: true })
    mkdirSync(dir)
    writeFileSync(join(dir, 'responses.db'), '')
    expect(await store.get(['a']).catch((error) => error)).to.include({ code: 'STORE_UNAVAILABLE' })
    await store.close()
  })

  it('refuses requests while its file cannot be reached, and serves them when it can', async function () {
    if (process.platform === 'win32') this.skip()
    const store = await open()
    await store.commit([['a', '1']])
    renameSync(dir, `${dir}-moved`)
    symlinkSync(dir, dir)
    for (let times = 0; times < 2; times++) {
      const failure = await store.get(['a']).catch((error) => error)
      expect(failure).to.include({ code: 'STORE_UNAVAILABLE' })
      expect(failure.message).to.match(/responses\.db cannot be reached \(ELOOP/)
    }
    rmSync(dir)
    renameSync(`${dir}-moved`, dir)
    expect(await store.get(['a'])).to.deep.equal(['1'])
    await store.close()
  })

  it('goes on with another thread when its own ends: what was acknowledged stays, and what was under way fails', async () => {
    await withThreads(async (threads) => {
      const store = await open()
      await store.commit([['a', '1']])
      const { serverId } = store
      const neighbour = new Database(join(dir, 'responses.db'))
      neighbour.exec('BEGIN IMMEDIATE')
      const underWay = store.commit([['b', '2']]).catch((error) => error)
      // It goes to the thread, which waits for the lock.
      await nextTurn()
      const waiting = store.commit([['c', '3']])
      void threads.at(-1)?.terminate()
      neighbour.exec('ROLLBACK')
      neighbour.close()
      const failure = await underWay
      expect(failure).to.include({ code: 'STORE_UNAVAILABLE' })
      expect(failure.message).to.match(/ended before it answered: a change may have been written or not \(it exited/)
      expect(await waiting).to.equal(true)
      expect(await store.get(['a', 'c'])).to.deep.equal(['1', '3'])
      expect(store.serverId).to.equal(serverId)
      const other = await open()
      expect(await other.isServerAlive(serverId)).to.equal(true)
      await other.close()
      await store.close()
      expect(threads.length).to.equal(3)
    })
  })

  it('pauses before the next thread when several ended at once, and says why it serves nothing', async () => {
    await withThreads(async (threads) => {
      const store = await open()
      for (let times = 1; times <= 3; times++) {
        await eventually(async () => expect(await store.commit([['a', `${times}`]])).to.equal(true))
        await threads.at(-1)?.terminate()
      }
      const failure = await store.get(['a']).catch((error) => error)
      expect(failure.message).to.match(/failed: the thread of the database ended: it exited with 1$/)
      await eventually(async () => expect(await store.get(['a'])).to.deep.equal(['3']))
      await store.close()
      expect(threads.length).to.equal(4)
    })
  })

  it('hands values to its thread as they are: in another text, a large one would be in memory twice', async () => {
    const store = await open()
    const { postMessage } = Worker.prototype
    const sent: unknown[] = []
    Worker.prototype.postMessage = function (jobs, transfer) {
      // A sign of life may come in between.
      for (const { kind, changes, equal } of jobs) if (kind === 'commit') sent.push([changes, equal])
      postMessage.call(this, jobs, transfer as never)
    }
    try {
      await store.commit([['a', '{"b":1}']])
      expect(await store.commit([['a', undefined]], { equal: [['a', '{"b":1}']] })).to.equal(true)
    } finally {
      Worker.prototype.postMessage = postMessage
    }
    expect(sent).to.deep.equal([
      [['keyv:a', '{"b":1}'], []],
      [
        ['keyv:a', null],
        ['keyv:a', '{"b":1}'],
      ],
    ])
    await store.close()
  })

  it('outlives a thread that runs out of memory', async () => {
    const { child, lines } = await startProcess('memory')
    await once(child, 'close')
    expect(lines()[1]).to.match(/ended before it answered: .* \(Worker terminated due to reaching memory limit/)
    expect(lines()[2]).to.equal('found 2')
  })

  it('hears of commits of another server after its thread has ended, and once of those before', async () => {
    await withThreads(async (threads) => {
      const store = await open()
      let heard = 0
      const end = store.watch(['topic'], () => heard++)
      await store.get(['a'])
      const other = new Database(join(dir, 'responses.db'))
      await threads.at(-1)?.terminate()
      await eventually(() => expect(heard).to.be.greaterThan(0))
      await store.get(['a'])
      const before = heard
      other.exec(`INSERT INTO keyv VALUES ('keyv:a', '{"value":1}')`)
      await eventually(() => expect(heard).to.be.greaterThan(before))
      other.close()
      end()
      await store.close()
    })
  })

  it('erases what was deleted just before its thread ended', async () => {
    await withThreads(async (threads) => {
      const store = await open()
      await store.commit([['a', '"canary"']])
      // While it reads, the log is neither truncated nor removed.
      const other = new Database(join(dir, 'responses.db'))
      other.exec('BEGIN')
      other.prepare('SELECT * FROM keyv').all()
      await store.commit([['a', undefined]])
      await threads.at(-1)?.terminate()
      expect(readdirSync(dir).some((name) => holds(join(dir, name), 'canary'))).to.equal(true)
      other.exec('ROLLBACK')
      await eventually(() => expect(readdirSync(dir).some((name) => holds(join(dir, name), 'canary'))).to.equal(false))
      other.close()
      await store.close()
    })
  })

  it('begins no empty file where its own was removed when its thread ended', async () => {
    await withThreads(async (threads) => {
      const store = await open()
      await store.commit([['a', '1']])
      renameSync(dir, `${dir}-moved`)
      await threads.at(-1)?.terminate()
      const failure = await store.get(['a']).catch((error) => error)
      expect(failure.message).to.match(/responses\.db was removed or replaced while the server runs\. Put it back/)
      expect(failure.cause).to.include({ code: 'STORE_REMOVED' })
      renameSync(`${dir}-moved`, dir)
      await eventually(async () => expect(await store.get(['a'])).to.deep.equal(['1']))
      await store.close()
    })
  })

  it('keeps the log that it writes to when another store of the process, and then another process, has had the file open', async () => {
    const store = await open()
    await store.commit([['a', '1']])
    await (await open()).close()
    const { child, lines } = await startProcess('close')
    await once(child, 'close')
    expect(lines().at(-1)).to.equal('closed')
    await store.commit([['b', '2']])
    expect(readdirSync(dir)).to.include('responses.db-wal')
    const other = await open()
    expect(await other.get(['a', 'b'])).to.deep.equal(['1', '2'])
    await other.close()
    await store.close()
  })

  it('reports a damaged file when opening it', async () => {
    const store = await open()
    await store.commit(
      Array.from({ length: 200 }, (_, n): [string, string] => [`a${n}`, JSON.stringify('x'.repeat(300))]),
    )
    await store.close()
    const warnings: string[] = []
    const reopen = async () =>
      (await openStore({ store: 'sqlite', dir, projectDir: dir, warn: (text) => warnings.push(text) })).close()
    await reopen()
    expect(warnings).to.deep.equal([])
    const bytes = readFileSync(join(dir, 'responses.db'))
    bytes.fill(0xff, 4096 * 5, 4096 * 7)
    writeFileSync(join(dir, 'responses.db'), bytes)
    await reopen()
    expect(warnings.join()).to.match(/responses\.db is damaged: .*agent-host store check/s)
  })

  it('explains a file that is not a database', async () => {
    const { write, path } = await makeProject()
    await write('responses/responses.db', 'This is no database, and longer than the head of one.'.repeat(100))
    dir = path('responses')
    const failure = await open().catch((error: Error) => error)
    expect(failure).to.include({ code: 'STORE_UNAVAILABLE' })
    expect((failure as Error).message).to.match(/responses\.db cannot be opened: .*not a database/)
  })

  it('names the missing package of another store', async () => {
    const failure = await openStore({ store: 'keyv-sqlite:x.db', dir, projectDir: '/' }).then(
      (store) => store.close(),
      (error: Error) => error.message,
    )
    // Where the optional peer is installed, it opens.
    expect(failure ?? 'opened').to.match(/^opened$|^--store keyv-sqlite needs the package @keyv\/sqlite/)
  })

  function startProcess(mode: string): Promise<{ child: ChildProcess; lines: () => string[] }> {
    writeFileSync(join(dir, '..', 'ready'), '')
    const script = fileURLToPath(new URL('../support/store-process.ts', import.meta.url))
    const child = spawn(process.execPath, ['--import=tsx', script, join(dir, 'responses.db'), mode])
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.stderr.pipe(process.stderr)
    return Promise.resolve({ child, lines: () => output.split('\n').slice(0, -1) })
  }
})

async function kill(child: ChildProcess): Promise<void> {
  const closed = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGKILL')
  await closed
}

async function listAll(store: RecordStore, prefix: string): Promise<string[]> {
  const keys = await store.list({ prefix, limit: 1_000_000 })
  return keys.map((key) => key.slice(prefix.length))
}

/** The longest time, in ms, for which the event loop served nothing while the work went on. */
async function longestTurn(work: () => Promise<void>): Promise<number> {
  let [last, longest] = [Date.now(), 0]
  const timer = setInterval(() => {
    longest = Math.max(longest, Date.now() - last)
    last = Date.now()
  }, 5)
  await work()
  clearInterval(timer)
  return longest
}

function holds(path: string, needle: string): boolean {
  return statSync(path).isFile() && readFileSync(path).includes(needle)
}
