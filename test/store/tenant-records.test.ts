import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { CheckedStore } from '../../src/store/checked-store.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { RecordStore } from '../../src/store/record-store.ts'
import { kindOf, listTenants, parseIndexKey, tenantRecords } from '../../src/store/tenant-records.ts'
import { describeRecordStore } from '../suites/record-store-suite.ts'

const ALL = { prefix: '', limit: 100 }
/** Names that begin with each other, that need an encoding, and that look like keys. */
const NEIGHBOURS = ['', 'acm', 'acme-', 'acme/x', 'Acme', 'ünïcode @/:']

describe('tenantRecords', () => {
  let dir: string
  const openAll = () => openStore({ store: 'sqlite', dir, projectDir: dir })

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'agent-host-test-tenants-'))
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  describe('with neighbours', () => {
    describeRecordStore(
      async () => {
        const store = await openAll()
        for (const neighbour of NEIGHBOURS) await fill(tenantRecords(store, neighbour))
        return new CheckedStore(tenantRecords(store, 'acme'))
      },
      async () => new CheckedStore(tenantRecords(await openAll(), 'acme')),
    )

    const fill = (records: RecordStore) =>
      records.commit(['a', 'b', 'branch:a:1', 'key:1', 'z', '~'].map((key) => [key, '"of a neighbour"']))
  })

  it('leaves the keys of the nameless tenant as they are', async () => {
    const store = await openAll()
    expect(tenantRecords(store, '')).to.equal(store)
    await store.close()
  })

  it('shows a tenant none of the records of others, and changes none of them', async () => {
    const store = await openAll()
    const tenants = [...NEIGHBOURS, 'acme']
    for (const tenant of tenants) await tenantRecords(store, tenant).commit([['row:1', JSON.stringify(tenant)]])
    const read = (tenant: string) => tenantRecords(store, tenant).entries({ prefix: 'row:', limit: 9 })
    for (const tenant of tenants) expect(await read(tenant)).to.deep.equal([['row:1', JSON.stringify(tenant)]])
    await tenantRecords(store, 'acme').commit([['row:1', undefined]])
    expect(await read('acme')).to.deep.equal([])
    for (const tenant of NEIGHBOURS) expect(await read(tenant)).to.have.length(1)
    await store.close()
  })

  it('keeps what the server reads for all tenants in one list, with the tenant', async () => {
    const store = await openAll()
    for (const tenant of ['acme', '', 'b@c/d']) {
      const records = tenantRecords(store, tenant, ['mark:'])
      await records.commit([[`mark:1${tenant.length}`, '1']], { absent: [`mark:1${tenant.length}`] })
      expect(await records.get([`mark:1${tenant.length}`])).to.deep.equal(['1'])
    }
    const keys = await store.list({ prefix: 'mark:', limit: 9 })
    expect(keys.map((key) => parseIndexKey('mark:', key))).to.deep.equal([
      { tenant: '', id: '10' },
      { tenant: 'acme', id: '14' },
      { tenant: 'b@c/d', id: '15' },
    ])
    const failure = await tenantRecords(store, 'acme', ['mark:']).list({ prefix: 'mark:', limit: 9 }).catch(String)
    expect(failure).to.equal("Error: 'mark:' is not a list of one tenant.")
    await store.close()
  })

  it('lists the tenants that have records', async () => {
    const store = await openAll()
    for (const tenant of NEIGHBOURS)
      await tenantRecords(store, tenant).commit([
        ['a:1', '1'],
        ['~', '1'],
      ])
    expect(new Set(await listTenants(store))).to.deep.equal(new Set(NEIGHBOURS))
    const kinds = (await store.list(ALL)).map(kindOf)
    expect(new Set(kinds)).to.deep.equal(new Set(['a', '~']))
    await store.close()
  })
})
