import { expect } from 'chai'
import { openStore } from '../../src/store/open-store.ts'
import { isDemoted } from '../../src/store/redis/is-demoted.ts'
import { describeWith } from '../support/describe-with.ts'
import { eventually } from '../support/eventually.ts'
import { RedisPair } from '../support/redis-pair.ts'
import { makeResponses, textOf } from '../support/responses.ts'
import { closeServers } from '../support/server.ts'
import { hasRedis } from '../support/store-servers.ts'

/** Five seconds are promised; a machine that is shared may need more. */
const RECOVERY_MS = 10_000

describeWith('Redis', hasRedis(), 'two servers of Redis behind one address', function () {
  this.timeout(40_000)
  let pair: RedisPair

  beforeEach(async () => {
    pair = await RedisPair.start()
  })

  afterEach(async () => {
    await closeServers()
    await pair.remove()
  })

  it('are followed over two failovers, watchers included; what was acknowledged and replicated is there', async () => {
    const open = () => openStore({ store: pair.url, dir: '/', projectDir: process.cwd() })
    const [store, other] = await Promise.all([open(), open()])
    let heard = 0
    other.watch(['run:1'], () => heard++)
    expect(await store.commit([['a', '1']])).to.equal(true)
    for (const key of ['b', 'c']) {
      await pair.failOver()
      const refused = await store.commit([[key, 'refused']]).catch((error: Error) => error)
      expect(refused).to.be.instanceOf(Error)
      expect(await eventually(() => other.get(['a', key]), RECOVERY_MS)).to.deep.equal(['1', undefined])
      await eventually(async () => expect(await store.commit([[key, '1']])).to.equal(true), RECOVERY_MS)
      await eventually(async () => expect(await other.get(['a', key])).to.deep.equal(['1', '1']), RECOVERY_MS)
      heard = 0
      await eventually(async () => {
        await store.commit([['d', key]], {}, ['run:1'])
        expect(heard).to.be.greaterThan(0)
      }, RECOVERY_MS)
    }
    await Promise.all([store.close(), other.close()])
  })

  it('take a stream of commits through a failover: each that was refused is not there, by halves neither', async () => {
    const store = await openStore({ store: pair.url, dir: '/', projectDir: process.cwd() })
    const outcomes = new Map<number, boolean>()
    const commit = async (n: number) => {
      const done = store.commit(
        [
          [`one:${n}`, '1'],
          [`two:${n}`, '1'],
        ],
        { absent: [`one:${n}`] },
      )
      outcomes.set(n, await done.catch(() => false))
    }
    for (let n = 0; n < 300; n++) {
      if (n === 100) await pair.failOver()
      await commit(n)
    }
    await eventually(() => store.commit([['last', '1']]), RECOVERY_MS)
    for (const [n, isDone] of outcomes) {
      const [one, two] = await store.get([`one:${n}`, `two:${n}`])
      expect([n, one, two]).to.deep.equal([n, two, isDone ? '1' : undefined])
    }
    expect([...outcomes.values()])
      .to.include(true)
      .and.to.include(false)
    await store.close()
  })

  it('serve responses in the background again, by a queue of BullMQ', async () => {
    const { create, whenEnded } = await makeResponses({ store: pair.url, queue: pair.url })
    const ask = async () => {
      const { id } = await create('say a', { background: true })
      return textOf(await whenEnded(id))
    }
    expect(await ask()).to.equal('a ')
    for (let round = 0; round < 2; round++) {
      await pair.failOver()
      await eventually(async () => expect(await ask()).to.equal('a '), RECOVERY_MS)
    }
  })
})

describe('a demoted server of Redis', () => {
  it('shows by its answer', () => {
    const answers = [
      "READONLY You can't write against a read only replica. script: 83a, on @user_script:24.",
      'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
      "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    ]
    for (const answer of answers) expect(isDemoted(new Error(answer))).to.equal(true)
    for (const answer of ['NOREPLICAS Not enough good replicas to write.', 'LOADING Redis is loading', 'ERR READONLY'])
      expect(isDemoted(new Error(answer))).to.equal(false)
  })
})
