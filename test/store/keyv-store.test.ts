import { expect } from 'chai'
import type { KeyvStoreAdapter } from 'keyv'
import { CheckedStore, inTime } from '../../src/store/checked-store.ts'
import { KeyvStore } from '../../src/store/keyv/keyv-store.ts'
import { openStore } from '../../src/store/open-store.ts'
import { describeRecordStore } from '../suites/record-store-suite.ts'
import { makeProject } from '../support/temp-project.ts'

describe('KeyvStore', () => {
  describe('over a backend without transactions', () => {
    let map: Map<string, unknown>
    describeRecordStore(
      () => {
        map = new Map()
        return open(map)
      },
      () => open(map),
    )
  })

  describe('over @keyv/sqlite', () => {
    let dir: string

    before(async function () {
      const { dir: probe } = await makeProject()
      const failure = await openStore({ store: 'keyv-sqlite:probe.db', dir: probe, projectDir: probe }).then(
        (store) => store.close().then(() => ''),
        (error: Error) => error.message,
      )
      // An optional peer: it compiles for a minute, so it is not among the dependencies of development.
      if (/not installed/.test(failure)) this.skip()
      else expect(failure).to.equal('')
    })

    const openSqlite = () => openStore({ store: 'keyv-sqlite:records.db', dir, projectDir: dir })
    describeRecordStore(async () => {
      dir = (await makeProject()).dir
      return openSqlite()
    }, openSqlite)
  })

  it('names a failure of the backend, also one that Keyv would hide', async () => {
    const broken = { ...failing('the disk is full'), set: async () => false } as unknown as KeyvStoreAdapter
    const failure = await open(broken).then(
      (store) => store.commit([['a', '1']]),
      (error: Error) => error,
    )
    expect(failure).to.include({
      code: 'STORE_UNAVAILABLE',
      message: 'The store of responses failed: the disk is full',
    })
  })

  it('gives up on a backend that does not answer', async () => {
    const silent = { ...failing(''), get: () => new Promise(() => {}) } as unknown as KeyvStoreAdapter
    const failure = await open(silent).catch((error: Error) => error.message)
    expect(failure).to.equal('The store of responses failed: no answer within 5 s')
  })
})

async function open(adapter: KeyvStoreAdapter | Map<string, unknown>): Promise<CheckedStore> {
  return new CheckedStore(await inTime(KeyvStore.open(adapter)))
}

function failing(message: string) {
  const fail = async () => {
    throw new Error(message)
  }
  return { opts: { dialect: 'redis', url: '' }, get: fail, set: fail, delete: fail, clear: fail, on: () => {} }
}
