import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import Database from 'libsql'
import pg from 'pg'
import { openStore } from '../../src/store/open-store.ts'
import { SharedStore } from '../../src/store/shared-store.ts'
import { claimFormat, isOtherFormat } from '../../src/store/store-format.ts'
import { copyStore } from '../../src/store/walk-store.ts'
import { describeWith } from '../support/describe-with.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'
import { makeProject } from '../support/temp-project.ts'

/** Folder that has the package `@keyv/sqlite`, see `keyv-store.test.ts`. */
const KEYV_SQLITE = process.env.AGENT_HOST_TEST_KEYV_SQLITE

/** As builds before this format wrote them. */
const OLD_ROWS = [
  [
    'turn:resp_1',
    '{"version":2,"id":"conv_1","response_id":"resp_1","previous_response_id":null,"created_at":1795722555,"conversation_data":{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hi"}]},"block":[],"block_before":null}',
  ],
  [
    'response:resp_1',
    '{"text":"hi","steps":[2,{"end":"completed","at":1795722555,"usage":{"inputTokens":0,"outputTokens":0,"cachedInputTokens":0,"reasoningTokens":0}}],"items":[],"version":2,"id":"resp_1","facts":{"id":"resp_1","object":"response"},"inputs":1}',
  ],
  ['job:resp_2', '{"version":4}'],
  ['waiting-run:run_1', '{"version":3}'],
  ['mcp-waiting:1', '{}'],
  ['module:a/memory/x!', '"hi"'],
] as const

/** A kind of stores, of which a test gets an empty one. */
interface Kind {
  readonly setAside: string
  /** Returns a location of its own. */
  make(): Promise<{ readonly store: string; readonly dir: string; readonly projectDir: string }>
}

function describeFormat({ make, setAside }: Kind): void {
  it('is in an empty store from its first use on, and read by the next', async () => {
    const location = await make()
    const store = await new SharedStore(location).open()
    await store.commit([['a', '1']])
    await store.close()
    const again = await new SharedStore(location).open()
    expect(await again.get(['~format', 'a'])).to.deep.equal(['5', '1'])
    await again.close()
  })

  for (const rows of [OLD_ROWS, OLD_ROWS.slice(-1)]) {
    it(`is missed in a store of an earlier build, which is refused and left as it is (${rows.length} rows)`, async () => {
      const location = await make()
      const old = await openStore(location)
      await old.commit(rows)
      const before = await old.entries({ prefix: '', limit: 100 })
      await old.close()
      const shared = new SharedStore(location)
      for (const _try of [1, 2]) {
        const error = await failureOf(shared.open())
        expect(error).to.include({ code: 'STORE_UNAVAILABLE' })
        expect(isOtherFormat(error)).to.equal(true)
        expect(error.message.split('\n')).to.have.length(1)
        expect(error.message.replace(/^The store \S+ /, '')).to.equal(
          'was written by an earlier build of agent-host, and is not read by this one; nothing in it was changed. ' +
            `Set it aside: ${setAside}.`,
        )
      }
      const after = await openStore(location)
      expect(await after.entries({ prefix: '', limit: 100 })).to.deep.equal(before)
      await after.close()
    })
  }

  it('is refused if it is another one', async () => {
    const location = await make()
    for (const [format, text] of [
      ['6', 'was written by a later version of agent-host;'],
      ['4', 'was written by an earlier build of agent-host'],
      ['{}', 'was written by an earlier build of agent-host'],
    ] as const) {
      const store = await openStore(location)
      await store.commit([['~format', format]])
      await store.close()
      expect((await failureOf(new SharedStore(location).open())).message).to.include(text)
    }
  })
}

async function failureOf(opening: Promise<unknown>): Promise<Error> {
  return opening.then(
    () => new Error('It was opened.'),
    (error: Error) => error,
  )
}

function describeTogether(make: Kind['make']): void {
  it('is agreed on by servers that start together', async () => {
    const location = await make()
    const stores = await Promise.all(Array.from({ length: 5 }, () => openStore(location, claimFormat)))
    expect(await stores[4]?.list({ prefix: '', limit: 10 })).to.deep.equal(['~format'])
    await Promise.all(stores.map((store) => store.close()))
  })
}

describe('the format of a store', function () {
  this.timeout(40_000)
  const ofProject = async (store: string) => {
    const projectDir = (await makeProject()).dir
    return { store, dir: join(projectDir, 'responses'), projectDir }
  }

  describe('of SQLite', () => {
    const make = () => ofProject('sqlite')
    describeFormat({ make, setAside: 'rename its folder, or choose another one with --responses-dir' })
    describeTogether(make)

    it('leaves the file of an earlier build byte for byte', async () => {
      const location = await make()
      const file = join(location.dir, 'responses.db')
      mkdirSync(location.dir)
      const old = new Database(file)
      old.exec('PRAGMA journal_mode = WAL')
      old.exec('CREATE TABLE keyv (key VARCHAR(255) PRIMARY KEY, value TEXT)')
      old.exec('CREATE TABLE servers (id TEXT PRIMARY KEY, process TEXT, seen_ms INTEGER) WITHOUT ROWID')
      old.exec('PRAGMA user_version = 2')
      for (const [key, value] of OLD_ROWS) {
        old.prepare('INSERT INTO keyv VALUES (?, ?)').run(`keyv:${key}`, `{"value":${value}}`)
      }
      old.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      old.close()
      const digest = () => createHash('sha256').update(readFileSync(file)).digest('hex')
      const before = digest()
      expect(isOtherFormat(await failureOf(new SharedStore(location).open()))).to.equal(true)
      expect(digest()).to.equal(before)
    })

    it('is missed in a copy that was broken off', async () => {
      const [location, target] = [await make(), await make()]
      const store = await new SharedStore(location).open()
      await store.commit(Array.from({ length: 700 }, (_, n) => [`turn:${n}`, '1']))
      const copy = await openStore(target)
      const commit = copy.commit.bind(copy)
      let commits = 0
      copy.commit = (changes) => (++commits > 1 ? Promise.reject(new Error('killed')) : commit(changes))
      expect((await failureOf(copyStore(store, copy))).message).to.equal('killed')
      await Promise.all([store.close(), copy.close()])
      expect(isOtherFormat(await failureOf(new SharedStore(target).open()))).to.equal(true)
    })

    it('is no matter of other namespaces of Keyv', async () => {
      const location = await make()
      mkdirSync(location.dir)
      const other = new Database(join(location.dir, 'responses.db'))
      other.exec('CREATE TABLE keyv (key VARCHAR(255) PRIMARY KEY, value TEXT)')
      other.exec(`INSERT INTO keyv VALUES ('of-another-program:a', '{"value":1}')`)
      other.close()
      const store = await new SharedStore(location).open()
      expect(await store.list({ prefix: '', limit: 10 })).to.deep.equal(['~format'])
      await store.close()
    })
  })

  describeWith('@keyv/sqlite', KEYV_SQLITE !== undefined, 'of @keyv/sqlite', () => {
    const make = async () => {
      const { dir } = await makeProject()
      return { store: `keyv-sqlite:${join(dir, 'responses.db')}`, dir, projectDir: KEYV_SQLITE ?? '' }
    }
    describeFormat({ make, setAside: 'rename the file, or choose another one with --store' })

    it('is that of SQLite, and either has all records of the other, and adds to them', async () => {
      const keyv = await make()
      const location = { ...keyv, store: 'sqlite' }
      const all = ['a', 'b', 'c', '~format']
      for (const [index, each] of [location, keyv, location, keyv].entries()) {
        const store = await new SharedStore(each).open()
        if (index < 3) await store.commit([['abc'[index] as string, `${index}`]], { absent: ['abc'[index] as string] })
        expect(await store.list({ prefix: '', limit: 10 })).to.deep.equal(
          [...all.slice(0, index + 1), ...all.slice(3)].filter((key, at, keys) => keys.indexOf(key) === at),
        )
        await store.close()
      }
    })

    it('is missed in a file of SQLite that an earlier build wrote', async () => {
      const keyv = await make()
      const old = await openStore({ ...keyv, store: 'sqlite' })
      await old.commit(OLD_ROWS)
      await old.close()
      expect(isOtherFormat(await failureOf(new SharedStore(keyv).open()))).to.equal(true)
    })
  })

  const SERVERS = [
    { name: 'PostgreSQL', isThere: hasPostgres(), startServer: startPostgres, option: 'schema', kind: 'postgres' },
    { name: 'Redis', isThere: hasRedis(), startServer: startRedis, option: 'prefix', kind: 'redis' },
  ]
  for (const { name, isThere, startServer, option, kind } of SERVERS) {
    describeWith(name, isThere, `of ${name}`, function () {
      this.timeout(40_000)
      let server: StoreServer
      let stores = 0
      const make = async () => ofProject(`${server.url}?${option}=format_${++stores}`)

      before(async () => {
        server = await startServer()
      })

      after(() => server?.remove())

      describeFormat({ make, setAside: `choose another ${option}, --store ${kind}://...?${option}=<name>` })
      describeTogether(make)

      it('is no matter of what others keep on the server', async () => {
        const location = await make()
        await fillBeside(server.url)
        const store = await new SharedStore(location).open()
        expect(await store.list({ prefix: '', limit: 10 })).to.deep.equal(['~format'])
        await store.close()
      })
    })
  }
})

/** Data of another program. */
async function fillBeside(url: string): Promise<void> {
  if (url.startsWith('redis')) {
    const redis = new Redis(url)
    await redis.mset('response:resp_1', '{}', 'agent-host', '1')
    redis.disconnect()
    return
  }
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`CREATE TABLE records (key text, value text)`)
  await client.query(`INSERT INTO records VALUES ('response:resp_1', '{}')`)
  await client.end()
}
