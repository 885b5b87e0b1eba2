import { expect } from 'chai'
import pg from 'pg'
import { openStore } from '../../src/store/open-store.ts'
import type { RecordStore } from '../../src/store/record-store.ts'
import { describeWith } from '../support/describe-with.ts'
import { eventually } from '../support/eventually.ts'
import { hasPgBouncer, type StoreServer, startPgBouncer, startPostgres } from '../support/store-servers.ts'

interface Pooler {
  readonly mode: string
  /** Lines of its configuration. */
  readonly settings: readonly string[]
  /** Options of the store's URL. */
  readonly optionsOf: (postgres: StoreServer) => string
}

const POOLERS: readonly Pooler[] = [
  { mode: 'with its default settings', settings: [], optionsOf: () => '' },
  {
    mode: 'in transaction mode, with the option `listen`',
    // Fewer connections than the stores have: each statement may run on another one.
    settings: ['pool_mode=transaction', 'default_pool_size=4'],
    optionsOf: ({ directUrl }) => `?listen=${encodeURIComponent(directUrl)}`,
  },
]

describeWith('PgBouncer', hasPgBouncer(), 'the PostgreSQL store behind PgBouncer', () => {
  let postgres: StoreServer
  const bouncers = new Map<Pooler, StoreServer>()
  const bouncerUrl = (pooler: Pooler) => bouncers.get(pooler)?.url ?? ''
  const open = (pooler: Pooler) =>
    openStore({ store: `${bouncerUrl(pooler)}${pooler.optionsOf(postgres)}`, dir: '/', projectDir: process.cwd() })

  before(async () => {
    postgres = await startPostgres()
    for (const pooler of POOLERS) bouncers.set(pooler, await startPgBouncer(postgres, pooler.settings))
  })

  after(async () => {
    for (const bouncer of bouncers.values()) await bouncer.remove()
    await postgres?.remove()
  })

  for (const pooler of POOLERS) {
    it(`${pooler.mode}: servers start at once, commit and read together, and hear each other`, async () => {
      const [one, other] = await Promise.all([open(pooler), open(pooler)])
      let heard = 0
      other.watch(['run:1'], () => heard++)
      const keys = `k${pooler.settings.length}:`
      const write = async (n: number, [writer, reader]: readonly [RecordStore, RecordStore]) => {
        expect(await writer.commit([[`${keys}${n}.`, '1']], { absent: [`${keys}${n}.`] })).to.equal(true)
        expect(await reader.get([`${keys}${n}.`])).to.deep.equal(['1'])
      }
      const writes = Array.from({ length: 60 }, (_, n) => write(n, n % 2 === 0 ? [one, other] : [other, one]))
      await Promise.all(writes)
      expect(await one.list({ prefix: keys, limit: 100 })).to.have.length(60)
      expect(await one.commit([['a', '1']], { present: ['missing'] }, ['run:1'])).to.equal(false)
      expect(await one.commit([['a', '1']], {}, ['run:1'])).to.equal(true)
      await eventually(() => expect(heard).to.equal(1))
      expect(await one.isServerAlive(other.serverId)).to.equal(true)
      await Promise.all([one.close(), other.close()])
    })

    it(`${pooler.mode}: the settings of other programs stay as they are`, async () => {
      const store = await open(pooler)
      await store.commit([['a', '1']])
      await store.close()
      const client = new pg.Client(bouncerUrl(pooler))
      await client.connect()
      const { rows } = await client.query('SHOW statement_timeout')
      await client.end()
      expect(rows).to.deep.equal([{ statement_timeout: '0' }])
    })
  }

  it('is not opened through a pooler that shares connections, without the option `listen`', async () => {
    const [, shared] = POOLERS
    const store = bouncerUrl(shared as Pooler)
    const failure = await openStore({ store, dir: '/', projectDir: process.cwd() }).catch((error) => error)
    expect(failure).to.include({
      code: 'OPTION_INVALID',
      message: 'The PostgreSQL of --store is behind a pooler that shares connections (transaction mode).',
    })
    expect(failure.suggestions).to.deep.equal([
      'Add a URL that leads past the pooler, percent-encoded: --store postgres://...?listen=postgres%3A%2F%2F...',
      'Or have the pooler keep a connection for each client (session mode).',
    ])
  })

  it('has no commit take effect after it has failed', async () => {
    const stores = await Promise.all(POOLERS.map(open))
    const admin = new pg.Client(postgres.directUrl)
    await admin.connect()
    await admin.query('BEGIN; LOCK TABLE agent_host.records')
    const outcomes = await Promise.allSettled(stores.map((store, n) => store.commit([[`late:${n}`, '1']])))
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    await admin.query('COMMIT')
    // Takes its turn after any commit that is still under way.
    for (const store of stores) await eventually(() => store.commit([['next', '1']]), 10_000)
    expect(await stores[0]?.list({ prefix: 'late:', limit: 10 })).to.deep.equal([])
    await Promise.all([...stores.map((store) => store.close()), admin.end()])
  })

  it('fails when the pooler goes away during a commit, and recovers', async () => {
    const stores = await Promise.all(POOLERS.map(open))
    const admin = new pg.Client(postgres.directUrl)
    await admin.connect()
    await admin.query('BEGIN; LOCK TABLE agent_host.records')
    const outcomes = Promise.allSettled(stores.map((store) => store.commit([['gone', '1']])))
    await eventually(async () => {
      await admin.query('SELECT pg_stat_clear_snapshot()')
      const { rows } = await admin.query(
        `SELECT FROM pg_stat_activity WHERE query LIKE '%commit_1($1%' AND wait_event_type = 'Lock'`,
      )
      expect(rows).to.have.length(2)
    })
    for (const bouncer of bouncers.values()) await bouncer.kill()
    expect((await outcomes).map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    await admin.query('COMMIT')
    for (const bouncer of bouncers.values()) await bouncer.start()
    for (const store of stores) await eventually(() => store.commit([['back', '1']]), 10_000)
    await Promise.all([...stores.map((store) => store.close()), admin.end()])
  })
})
