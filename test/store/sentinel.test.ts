import { expect } from 'chai'
import { Redis } from 'ioredis'
import { resolveServerOptions } from '../../src/server/options/options.ts'
import { openStore } from '../../src/store/open-store.ts'
import { readRedisUrl } from '../../src/store/redis/redis-location.ts'
import { describeWith } from '../support/describe-with.ts'
import { eventually } from '../support/eventually.ts'
import { hasRedis, type StoreServer, startRedis, startSentinel } from '../support/store-servers.ts'

describeWith('Redis', hasRedis(), 'the Redis store behind Sentinel', () => {
  let master: StoreServer
  let replica: StoreServer
  let sentinel: StoreServer
  const open = (store = sentinel.url) => openStore({ store, dir: '/', projectDir: process.cwd() })

  beforeEach(async () => {
    master = await startRedis(['--repl-diskless-sync-delay', '0'])
    replica = await startRedis(['--replicaof', '127.0.0.1', new URL(master.directUrl).port])
    const admin = new Redis(replica.directUrl)
    await eventually(async () => expect(await admin.info('replication')).to.include('master_link_status:up'), 20_000)
    admin.disconnect()
    // Sentinel looks for replicas at its start, and then every ten seconds.
    sentinel = await startSentinel(master)
  })

  afterEach(async () => {
    for (const server of [sentinel, replica, master]) await server.remove()
  })

  it('follows a failover, watchers included, through whichever sentinel answers', async () => {
    const several = sentinel.url.replace('://', '://127.0.0.1:1,')
    const [store, other] = await Promise.all([open(several), open()])
    let heard = 0
    other.watch(['run:1'], () => heard++)
    expect(await store.commit([['a', '1']], {}, ['run:1'])).to.equal(true)
    await eventually(() => expect(heard).to.equal(1))
    const copy = new Redis(replica.directUrl)
    await eventually(async () => expect(await copy.hget('{agent-host}:records', 'a')).to.equal('1'))
    copy.disconnect()
    await master.kill()
    await eventually(async () => expect(await store.commit([['b', '1']])).to.equal(true), 20_000)
    expect(await store.get(['a', 'b'])).to.deep.equal(['1', '1'])
    heard = 0
    await eventually(async () => {
      await store.commit([['c', '1']], {}, ['run:1'])
      expect(heard).to.be.greaterThan(0)
    }, 10_000)
    await Promise.all([store.close(), other.close()])
  })

  it('leaves a server that does not answer, and is replaced', async () => {
    const [store, other] = await Promise.all([open(), open()])
    let heard = 0
    other.watch(['run:1'], () => heard++)
    process.kill(master.pid, 'SIGSTOP')
    await eventually(async () => expect(await store.commit([['b', '1']])).to.equal(true), 20_000)
    await eventually(async () => {
      await store.commit([['c', '1']], {}, ['run:1'])
      expect(heard).to.be.greaterThan(0)
    }, 20_000)
    process.kill(master.pid, 'SIGCONT')
    await Promise.all([store.close(), other.close()])
  })

  it('names sentinels that do not answer, and those that do not know the server', async () => {
    const unknown = await open(sentinel.url.replace('agents', 'others')).catch((error: Error) => error)
    expect(unknown).to.include({ code: 'STORE_UNAVAILABLE' })
    expect(String(unknown)).to.match(
      /redis\+sentinel:\/\/127\.0\.0\.1:\d+\/0 cannot be opened: .*No such master with that name/,
    )
    const nobody = await open('redis+sentinel://me:secret-4711@127.0.0.1:1,127.0.0.1:2/0?master=agents').catch(
      (error) => error,
    )
    expect(nobody).to.include({ code: 'STORE_UNAVAILABLE' })
    expect(String(nobody)).to.match(
      /redis\+sentinel:\/\/127\.0\.0\.1:1,127\.0\.0\.1:2\/0 cannot be opened: failed to connect to sentinel 127\.0\.0\.1:2/,
    )
    expect(JSON.stringify([String(nobody), nobody.stack])).to.not.include('secret-4711')
  })
})

describe('the URL of Redis behind Sentinel', () => {
  it('names the sentinels, the server, and how to log in to both', () => {
    const url =
      'redis+sentinel://ada:tulips@one,two:26380,[::1]:26381/2?master=agents&sentinel_password=roses&prefix=desk'
    expect(readRedisUrl(url)).to.deep.equal({
      url: 'redis://ada:tulips@sentinel/2',
      sentinel: {
        sentinels: [
          { host: 'one', port: 26379 },
          { host: 'two', port: 26380 },
          { host: '::1', port: 26381 },
        ],
        name: 'agents',
        sentinelPassword: 'roses',
      },
      prefix: 'desk',
    })
  })

  it('is rejected without the name of the server, or with a host that is none', async () => {
    expect(() => readRedisUrl('redis+sentinel://one:26379/0')).to.throw('does not say which server Sentinel watches')
    for (const store of [
      'redis+sentinel://one:port,two/0',
      'redis+sentinel://',
      'redis+sentinel://one,,two/0?master=a',
    ])
      expect(() => resolveServerOptions({ store })).to.throw(
        'must be sqlite, postgres://..., redis://..., redis+sentinel://... or keyv-sqlite:<path>, not',
      )
    expect(resolveServerOptions({ store: 'redis+sentinel://one,two/0?master=a' }).store).to.equal(
      'redis+sentinel://one,two/0?master=a',
    )
  })
})
