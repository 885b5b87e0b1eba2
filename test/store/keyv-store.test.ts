import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { KeyvStoreAdapter } from 'keyv'
import { CheckedStore, inTime } from '../../src/store/checked-store.ts'
import { KeyvStore } from '../../src/store/keyv/keyv-store.ts'
import { openStore } from '../../src/store/open-store.ts'
import { describeRecordStore } from '../suites/record-store-suite.ts'
import { describeWith } from '../support/describe-with.ts'

/** Folder that has the package: it is no dependency of development, because it compiles for a minute. */
const KEYV_SQLITE = process.env.AGENT_HOST_TEST_KEYV_SQLITE

/** It waits for the disk at every write, and what it loses with the power is not tested here. */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

describe('KeyvStore', () => {
  describe('over a backend without transactions', () => {
    let map: Map<string, unknown>
    describeRecordStore(
      () => {
        map = new Map()
        return open(map)
      },
      () => open(map),
      { isForOneServer: true },
    )
  })

  describeWith('@keyv/sqlite', KEYV_SQLITE !== undefined, 'over @keyv/sqlite', () => {
    let dir: string
    const open = (folder: string) =>
      openStore({ store: `keyv-sqlite:${join(folder, 'records.db')}`, dir: folder, projectDir: KEYV_SQLITE ?? '' })

    describeRecordStore(
      () => {
        dir = mkdtempSync(join(MEMORY, 'agent-host-test-keyv-'))
        return open(dir)
      },
      () => open(dir),
      { isForOneServer: true },
    )

    afterEach(() => rmSync(dir, { recursive: true }))
  })

  it('reports failures of the backend, even those that Keyv would hide', async () => {
    const broken = { ...failing('the disk is full'), set: async () => false } as unknown as KeyvStoreAdapter
    const store = await openAdapter(broken)
    const failures = [store.get(['a']), store.commit([['a', '1']])].map((call) => call.catch((error: Error) => error))
    for (const [index, reason] of ['the disk is full', "'a' was not written."].entries()) {
      expect(await failures[index]).to.include({
        code: 'STORE_UNAVAILABLE',
        message: `The store of responses failed: ${reason}`,
      })
    }
  })

  it('counts no record whose write has failed', async () => {
    const map = new Map<string, unknown>()
    const dying = new Proxy(map, {
      get: (target, name) => {
        if (name === 'set')
          return (key: string, value: unknown) => (key.endsWith('a') ? fail() : target.set(key, value))
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const fail = () => {
      throw new Error('killed')
    }
    const store = await KeyvStore.open(dying)
    await store.commit([['a', '1']]).catch(() => {})
    for (const each of [store, await KeyvStore.open(map)]) {
      expect(await each.list({ prefix: '', limit: 10 })).to.deep.equal([])
      expect(await each.commit([['b', '1']], { present: ['a'] })).to.equal(false)
      expect(await each.commit([['b', undefined]], { absent: ['a'] })).to.equal(true)
    }
  })

  it('times out on a backend that does not answer', async () => {
    const adapter = failing('') as unknown as KeyvStoreAdapter
    const failure = await openAdapter(adapter, new Promise(() => {})).catch((error: Error) => error.message)
    expect(failure).to.equal('The store of responses failed: no answer within 5 s')
  })
})

async function open(map: Map<string, unknown>): Promise<CheckedStore> {
  return new CheckedStore(await inTime(KeyvStore.open(map)))
}

async function openAdapter(adapter: KeyvStoreAdapter, names = Promise.resolve<string[]>([])): Promise<CheckedStore> {
  return new CheckedStore(await inTime(KeyvStore.open(adapter, () => names)))
}

function failing(message: string) {
  const fail = async () => {
    throw new Error(message)
  }
  return {
    opts: { dialect: 'redis', url: '' },
    get: fail,
    getMany: fail,
    set: fail,
    delete: fail,
    clear: fail,
    on: () => {},
  }
}
