import { inspect } from 'node:util'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import pg from 'pg'
import { openStore } from '../../src/store/open-store.ts'
import { namesOf } from '../../src/store/postgres/migrations.ts'
import { TopicListener } from '../../src/store/postgres/topic-listener.ts'
import { removeLog } from '../../src/store/record-log.ts'
import { describeRecordStore } from '../suites/record-store-suite.ts'
import { describeWith } from '../support/describe-with.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'

const KINDS = [
  { name: 'PostgreSQL', isThere: hasPostgres(), startServer: startPostgres, option: 'schema' },
  { name: 'Redis', isThere: hasRedis(), startServer: startRedis, option: 'prefix' },
]
let stores = 0

for (const { name, isThere, startServer, option } of KINDS) {
  describeWith(name, isThere, `the ${name} store`, () => {
    let server: StoreServer
    let url: string
    const open = (dir = '/') => openStore({ store: url, dir, projectDir: process.cwd() })

    before(async () => {
      server = await startServer()
    })

    after(() => server?.remove())

    beforeEach(() => {
      url = `${server.url}?${option}=test_${++stores}`
    })

    describeRecordStore(open, open)

    it('wakes nobody else, however many commits come at once', async () => {
      const [store, other] = [await open(), await open()]
      const topics = Array.from({ length: 1000 }, (_, n) => `run:resp_${'0'.repeat(32)}${n}`)
      const heard: string[] = []
      for (const topic of ['run:none', 'run:resp_', topics.at(-1) as string])
        other.watch([topic], () => heard.push(topic))
      await Promise.all(topics.map((topic, n) => store.commit([[`k${n}`, '1']], {}, [topic])))
      await eventually(() => expect(heard).to.deep.equal([topics.at(-1)]))
      await Promise.all([store.close(), other.close()])
    })

    it('keeps stores of one server apart', async () => {
      const one = await open()
      url = `${server.url}?${option}=test_${++stores}`
      const other = await open()
      await one.commit([['a', '1']])
      expect(await other.get(['a'])).to.deep.equal([undefined])
      await Promise.all([one.close(), other.close()])
    })

    it('applies many concurrent commits of all kinds in order', async () => {
      const store = await open()
      const keys = Array.from({ length: 20 }, (_, n) => `k${n}`)
      const model = new Map<string, string>()
      const commits = Array.from({ length: 1000 }, (_, n) => {
        const [key = '', other = ''] = [keys[(n * 7) % 20], keys[(n * 11 + 3) % 20]]
        const value = n % 5 === 4 ? undefined : JSON.stringify({ n })
        const guards = guardsOf(n, other, model.get(other))
        const holds = doesHold(model, guards)
        if (holds && value === undefined) model.delete(key)
        else if (holds && value !== undefined) model.set(key, value)
        return { done: store.commit([[key, value]], guards), holds }
      })
      for (const { done, holds } of commits) expect(await done).to.equal(holds)
      expect(await store.get(keys)).to.deep.equal(keys.map((key) => model.get(key)))
      await store.close()
    })

    it('fails in time while its server is down, and recovers, watchers included', async () => {
      const [store, other] = [await open(), await open()]
      await store.commit([['a', '1']])
      let heard = 0
      store.watch(['run:1'], () => heard++)
      await server.kill()
      const calls = [store.get(['a']), store.commit([['b', '1']]), store.list({ prefix: '', limit: 1 })]
      const failures = await Promise.all(calls.map((call) => failureOf(call)))
      for (const failure of failures) expect(failure).to.include({ code: 'STORE_UNAVAILABLE' })
      await server.start()
      await eventually(async () => expect(await store.get(['a'])).to.deep.equal(['1']), 10_000)
      await eventually(() => expect(heard).to.be.greaterThan(0), 10_000)
      heard = 0
      await eventually(async () => expect(await other.commit([['b', '2']], {}, ['run:1'])).to.equal(true), 10_000)
      await eventually(() => expect(heard).to.be.greaterThan(0))
      expect(await store.isServerAlive(other.serverId)).to.equal(true)
      await Promise.all([store.close(), other.close()])
    })

    it('times out on a server that does not answer', async () => {
      const store = await open()
      await store.commit([['a', '1']])
      server.freeze(true)
      const startedMs = Date.now()
      const failures = await Promise.all([failureOf(store.commit([['a', '1']])), failureOf(store.get(['a']))])
      server.freeze(false)
      for (const failure of failures) expect(failure).to.include({ code: 'STORE_UNAVAILABLE' })
      expect(Date.now() - startedMs).to.be.lessThan(6000)
      await eventually(async () => expect(await store.commit([['a', '2']])).to.equal(true), 10_000)
      await store.close()
    })

    it('names an unreachable server, without its password', async () => {
      url = `${new URL(server.url).protocol}//me:secret-4711@127.0.0.1:1/db`
      const failure = await open().catch((error: Error) => error)
      expect(failure).to.include({ code: 'STORE_UNAVAILABLE' })
      expect(String(failure)).to.match(/127\.0\.0\.1:1\/db cannot be opened: .*ECONNREFUSED/)
      expect(JSON.stringify([String(failure), (failure as Error).stack])).to.not.include('secret-4711')
    })
  })
}

describe('the PostgreSQL store', () => {
  let server: StoreServer
  const open = () => openStore({ store: server.url, dir: '/', projectDir: process.cwd() })

  before(async function () {
    if (!hasPostgres()) this.skip()
    server = await startPostgres()
  })

  after(() => server?.remove())

  it('applies the other commits of a group if one fails', async () => {
    const store = await open()
    // PostgreSQL has no texts with this character.
    const commits = ['"a"', '\0', '"b"'].map((value, n) => store.commit([[`group:${n}`, value]]))
    const outcomes = await Promise.allSettled(commits)
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled'])
    expect(await store.list({ prefix: 'group:', limit: 10 })).to.deep.equal(['group:0', 'group:2'])
    await store.close()
  })

  it('has a layout that is created once by servers that start together, and unchanged if a later version wrote it', async () => {
    const stores = await Promise.all(Array.from({ length: 5 }, open))
    await stores[0]?.commit([['a', '1']])
    expect(await stores[4]?.get(['a'])).to.deep.equal(['1'])
    await Promise.all(stores.map((store) => store.close()))
    const client = new pg.Client(server.url)
    await client.connect()
    expect((await client.query('SELECT steps FROM agent_host.layout')).rows).to.deep.equal([{ steps: 5 }])
    await client.query('UPDATE agent_host.layout SET steps = 99')
    const store = await open()
    expect(await store.get(['a'])).to.deep.equal(['1'])
    expect((await client.query('SELECT steps FROM agent_host.layout')).rows).to.deep.equal([{ steps: 99 }])
    await Promise.all([store.close(), client.end()])
  })

  it('has its functions plan their statements once', async () => {
    const store = await open()
    const client = new pg.Client(server.url)
    await client.connect()
    const { rows } = await client.query(`
      SELECT proname FROM pg_proc WHERE pronamespace = 'agent_host'::regnamespace
        AND NOT proconfig @> '{plan_cache_mode=force_generic_plan}'`)
    expect(rows).to.deep.equal([])
    await Promise.all([store.close(), client.end()])
  })

  it('is refused in one error, and ends no process, when its server goes while it is opened', async () => {
    await (await open()).close()
    const admin = await connectAdmin()
    await admin.query('BEGIN; LOCK TABLE agent_host.layout')
    const opening = failureOf(open())
    await untilWaiting(admin)
    await server.kill()
    expect(await opening).to.include({ code: 'STORE_UNAVAILABLE' })
    await server.start()
    await (await open()).close()
  })

  it('listens again when a connection could not even be made, such as while the file of a certificate is replaced', async () => {
    let connections = 0
    let heard = 0
    const connect = () => {
      if (++connections === 2) throw new Error('ENOENT: no such file or directory')
      return new pg.Client({ connectionString: server.url, application_name: 'listener' })
    }
    const onTopics = () => heard++
    const listener = new TopicListener({ connect, channel: 'topics', serverId: 'me', onTopics, onGap: () => {} })
    await listener.open()
    const admin = await connectAdmin()
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'listener'`)
    await eventually(async () => {
      await admin.query(`NOTIFY topics, 'other run:1'`)
      expect(heard).to.be.greaterThan(0)
    }, 10_000)
    expect(connections).to.equal(3)
    await Promise.all([listener.close(), admin.end()])
  })

  for (const mode of ['a connection of its own', 'a pooler in transaction mode']) {
    it(`checks guards after it has waited for the lock, whatever isolation the database has, over ${mode}`, async () => {
      const lock = `SELECT pg_advisory_xact_lock(${namesOf('agent_host').lock})`
      const admin = await connectAdmin()
      await admin.query(`ALTER ROLE agent SET default_transaction_isolation = 'repeatable read'`)
      const options = mode.includes('pooler') ? `?listen=${encodeURIComponent(server.url)}` : ''
      const store = await openStore({ store: server.url + options, dir: '/', projectDir: process.cwd() })
      await store.commit([
        ['owner', '"me"'],
        ['fenced', undefined],
      ])
      await admin.query(`BEGIN; ${lock}`)
      const fenced = store.commit([['fenced', '1']], { equal: [['owner', '"me"']] })
      await untilWaiting(admin)
      await admin.query(`UPDATE agent_host.records SET value = '"another"' WHERE key = 'owner'; COMMIT`)
      expect(await fenced).to.equal(false)
      expect(await store.get(['fenced'])).to.deep.equal([undefined])
      await admin.query('ALTER ROLE agent RESET default_transaction_isolation')
      await Promise.all([store.close(), admin.end()])
    })
  }

  /** Another client of the server, for whom its end is no fault. */
  async function connectAdmin(): Promise<pg.Client> {
    const client = new pg.Client(server.url)
    client.on('error', () => {})
    await client.connect()
    return client
  }

  /** Waits until the store waits for a lock. */
  async function untilWaiting(client: pg.Client): Promise<void> {
    await eventually(async () => {
      await client.query('SELECT pg_stat_clear_snapshot()')
      const { rows } = await client.query(
        `SELECT FROM pg_stat_activity WHERE application_name = 'agent-host' AND wait_event_type = 'Lock'`,
      )
      expect(rows).to.have.length(1)
    })
  }

  it('rejects the option `listen` when it is no URL, and does not show it', async () => {
    for (const listen of ['secret-4711', 'redis://me:secret-4711@host', 'postgres://me:secret-4711@host:port/db']) {
      const store = `${server.url}?listen=${encodeURIComponent(listen)}`
      expect(await failureOf(openStore({ store, dir: '/', projectDir: process.cwd() }))).to.include({
        code: 'OPTION_INVALID',
        message: "The option 'listen' of --store must be a URL that begins with postgres://, percent-encoded.",
      })
    }
  })

  it('rejects a schema name that would need quoting', async () => {
    const store = `${server.url}?schema=a"b`
    const failure = await failureOf(openStore({ store, dir: '/', projectDir: process.cwd() }))
    expect(failure).to.include({ code: 'OPTION_INVALID' })
  })
})

describe('the Redis store, its server', () => {
  before(function () {
    if (!hasRedis()) this.skip()
  })

  it('must not evict records, and should write an append-only file', async () => {
    const server = await startRedis(['--maxmemory-policy', 'allkeys-lru'])
    const warnings: string[] = []
    const warn = (message: string) => warnings.push(message)
    const open = () => openStore({ store: server.url, dir: '/', projectDir: process.cwd(), warn })
    expect(await failureOf(open())).to.include({
      code: 'OPTION_INVALID',
      message: 'Redis may throw stored responses away: its maxmemory-policy is allkeys-lru.',
    })
    const admin = new Redis(server.url)
    await admin.config('SET', 'maxmemory-policy', 'noeviction')
    await (await open()).close()
    expect(warnings).to.deep.equal([
      'Redis writes no append-only file: responses stored since its last snapshot are lost when it stops.',
    ])
    await admin.config('SET', 'appendonly', 'yes')
    await (await open()).close()
    expect(warnings).to.have.length(1)
    admin.disconnect()
    await server.remove()
  })

  it('is not waited for while it loads its data', async () => {
    const slow = ['--key-load-delay', '1000', '--loading-process-events-interval-bytes', '1024']
    const server = await startRedis(slow)
    const admin = new Redis(server.directUrl)
    await admin.eval(`for n = 1, 9000 do redis.call('SET', 'k' .. n, string.rep('x', 100)) end`, 0)
    await admin.save()
    admin.disconnect()
    await server.kill()
    const starting = server.start()
    const open = () => openStore({ store: server.directUrl, dir: '/', projectDir: process.cwd() })
    const failure = await eventually(async () => {
      const error = await failureOf(open())
      expect(String(error)).to.not.contain('ECONNREFUSED')
      return error
    })
    expect(failure).to.include({ code: 'STORE_UNAVAILABLE' })
    expect(String(failure)).to.contain('Redis was not ready within 5 s: it may be loading data')
    await starting
    await (await open()).close()
    await server.remove()
  })

  it('takes commits of very many keys', async () => {
    const server = await startRedis()
    const store = await openStore({ store: server.url, dir: '/', projectDir: process.cwd() })
    await store.commit([['log:000000007', '1']])
    expect(await store.commit(removeLog('log', 150_000))).to.equal(true)
    expect(await store.get(['log:000000007'])).to.deep.equal([undefined])
    await store.close()
    await server.remove()
  })

  it('has errors that show neither a password nor a record, however they are printed', async () => {
    const server = await startRedis(['--requirepass', 'sesame-4711'])
    const open = (password: string) =>
      openStore({ store: server.url.replace('//', `//:${password}@`), dir: '/', projectDir: process.cwd() })
    const refused = await failureOf(open('wrong-4711'))
    expect(String(refused)).to.contain('WRONGPASS')
    const store = await open('sesame-4711')
    const admin = new Redis(server.directUrl, { password: 'sesame-4711' })
    await admin.config('SET', 'maxmemory', '1')
    const full = await failureOf(store.commit([['a', '"record-4711"']]))
    expect(String(full)).to.contain('OOM command not allowed')
    for (const failure of [refused, full]) expect(inspect(failure, { depth: 9 })).to.not.contain('4711')
    await store.close()
    admin.disconnect()
    await server.remove()
  })

  it('must have the database that the URL names: no other one is written to', async () => {
    const server = await startRedis()
    const open = (database: string) =>
      openStore({ store: `${server.url}/${database}`, dir: '/', projectDir: process.cwd() })
    for (const database of ['99', 'agents']) {
      expect(await failureOf(open(database))).to.include({
        code: 'STORE_UNAVAILABLE',
        message: `The store ${server.url}/${database} cannot be opened: ERR DB index is out of range`,
      })
    }
    await (await open('15')).close()
    const admin = new Redis(server.url)
    expect(await admin.keys('*')).to.deep.equal([])
    admin.disconnect()
    await server.remove()
  })

  it('says why it cannot be reached', async () => {
    const server = await startRedis()
    const store = await openStore({ store: server.directUrl, dir: '/', projectDir: process.cwd() })
    await server.kill()
    await eventually(async () => {
      for (const call of [store.commit([['a', '1']]), store.get(['a']), store.list({ prefix: 'a', limit: 1 })])
        expect(String(await failureOf(call))).to.contain('ECONNREFUSED')
    })
    await store.close()
    await server.remove()
  })

  it('is not opened on a node of a cluster, whichever slots it has', async () => {
    const server = await startRedis(['--cluster-enabled', 'yes', '--cluster-port', `${await freePort()}`])
    const admin = new Redis(server.url)
    for (const range of [undefined, [0, 16383]]) {
      if (range) await admin.cluster('ADDSLOTSRANGE', ...range)
      expect(await failureOf(openStore({ store: server.url, dir: '/', projectDir: process.cwd() }))).to.include({
        code: 'OPTION_INVALID',
        message: 'The Redis of --store is a node of a cluster, and clusters are not supported.',
      })
    }
    admin.disconnect()
    await server.remove()
  })
})

function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    (value) => value,
    (error: Error) => error,
  )
}

function guardsOf(n: number, key: string, value: string | undefined) {
  if (n % 4 === 1) return { present: [key] }
  if (n % 4 === 2) return { absent: [key] }
  if (n % 4 === 3) return { equal: [[key, n % 8 === 3 ? (value ?? '0') : '"wrong"'] as const] }
  return {}
}

function doesHold(model: ReadonlyMap<string, string>, guards: ReturnType<typeof guardsOf>): boolean {
  const { present = [], absent = [], equal = [] } = guards
  const isUnder = (prefix: string) => [...model.keys()].some((key) => key.startsWith(prefix))
  return (
    present.every((key) => model.has(key)) &&
    !absent.some(isUnder) &&
    equal.every(([key, value]) => model.get(key) === value)
  )
}
