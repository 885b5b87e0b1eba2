import type { AscendingRange, Change, Entry, Guards, KeyRange, RecordStore } from './record-store.ts'

/** Beginning of the keys of tenants: no other key begins with it. */
const MARK = '@'

/**
 * Returns the records of one tenant: a part of the store with keys of its own, in which nothing of another tenant exists. The nameless
 * tenant has the keys as they are.
 *
 * @param tenant '' for the nameless one
 * @param indexes prefixes of keys that the server reads for all tenants together. They are kept beside those of the other tenants,
 *   with the tenant at the end; a tenant cannot list them.
 */
export function tenantRecords(records: RecordStore, tenant: string, indexes: readonly string[] = []): RecordStore {
  return tenant === '' ? records : new TenantRecords(records, encodeURIComponent(tenant), indexes)
}

/** Thing of a tenant, as an index of all tenants names it. */
export interface TenantItem {
  readonly tenant: string
  readonly id: string
}

/** Returns the rest of a key, behind the prefix, in an index that is kept for all tenants together. */
export function indexIdOf({ tenant, id }: TenantItem): string {
  return tenant === '' ? id : `${id}${MARK}${encodeURIComponent(tenant)}`
}

/** Reads such a key: the tenant, and what is between the prefix and its name. */
export function parseIndexKey(prefix: string, key: string): TenantItem {
  const rest = key.slice(prefix.length)
  const mark = rest.lastIndexOf(MARK)
  if (mark === -1) return { tenant: '', id: rest }
  return { tenant: decodeURIComponent(rest.slice(mark + 1)), id: rest.slice(0, mark) }
}

/** Lists the tenants that have records, the nameless one first. Reads one key of each. */
export async function listTenants(records: RecordStore): Promise<string[]> {
  const tenants = ['']
  for (let after: string | undefined; ; ) {
    const [key] = await records.list({ prefix: MARK, limit: 1, after })
    if (key === undefined) return tenants
    tenants.push(tenantOf(key))
    after = `${key.slice(0, key.indexOf('/'))}/~`
  }
}

/** Returns the kind of a record: the beginning of its key, without the tenant. */
export function kindOf(key: string): string {
  const own = key.startsWith(MARK) ? key.slice(key.indexOf('/') + 1) : key
  return own.split(':', 1)[0] as string
}

/** Returns the tenant that a record belongs to; '' for the nameless one. */
export function tenantOf(key: string): string {
  return key.startsWith(MARK) ? decodeURIComponent(key.slice(MARK.length, key.indexOf('/'))) : ''
}

class TenantRecords implements RecordStore {
  readonly serverId: string
  readonly #records: RecordStore
  readonly #beginning: string
  readonly #end: string
  readonly #indexes: readonly string[]

  constructor(records: RecordStore, name: string, indexes: readonly string[]) {
    this.serverId = records.serverId
    this.#records = records
    this.#beginning = `${MARK}${name}/`
    this.#end = MARK + name
    this.#indexes = indexes
  }

  get(keys: readonly string[]): Promise<(string | undefined)[]> {
    return this.#records.get(keys.map((key) => this.#nameOf(key)))
  }

  async list(range: KeyRange): Promise<string[]> {
    return (await this.#records.list(this.#rangeOf(range))).map((name) => this.#keyOf(name))
  }

  async entries(range: KeyRange): Promise<Entry[]> {
    return this.#toEntries(await this.#records.entries(this.#rangeOf(range)))
  }

  async entriesOfEach(ranges: readonly AscendingRange[]): Promise<Entry[][]> {
    const found = await this.#records.entriesOfEach(ranges.map((range) => this.#rangeOf(range)))
    return found.map((entries) => this.#toEntries(entries))
  }

  commit(changes: readonly Change[], guards: Guards = {}, notify?: readonly string[]): Promise<boolean> {
    const { present = [], absent = [], equal = [] } = guards
    const named = changes.map(([key, value]): Change => [this.#nameOf(key), value])
    const conditions = {
      present: present.map((key) => this.#nameOf(key)),
      absent: absent.map((prefix) => this.#nameOf(prefix)),
      equal: equal.map(([key, value]): Entry => [this.#nameOf(key), value]),
    }
    return this.#records.commit(named, conditions, notify)
  }

  /** Topics hold ids that are given out once, and say nothing but that something has changed. */
  watch(topics: readonly string[], onNotice: () => void): () => void {
    return this.#records.watch(topics, onNotice)
  }

  isServerAlive(serverId: string): Promise<boolean> {
    return this.#records.isServerAlive(serverId)
  }

  now(): Promise<number> {
    return this.#records.now()
  }

  purge(): Promise<void> {
    return this.#records.purge()
  }

  close(): Promise<void> {
    return this.#records.close()
  }

  #nameOf(key: string): string {
    return this.#isIndexed(key) ? key + this.#end : this.#beginning + key
  }

  #keyOf(name: string): string {
    return name.slice(this.#beginning.length)
  }

  #toEntries(entries: readonly Entry[]): Entry[] {
    return entries.map(([name, value]) => [this.#keyOf(name), value])
  }

  #rangeOf<R extends KeyRange>(range: R): R {
    const { prefix, after, before } = range
    if (this.#isIndexed(prefix)) throw new Error(`'${prefix}' is not a list of one tenant.`)
    const bounds: { after?: string; before?: string } = {}
    if (after !== undefined) bounds.after = this.#beginning + after
    if (before !== undefined) bounds.before = this.#beginning + before
    return { ...range, prefix: this.#beginning + prefix, ...bounds }
  }

  #isIndexed(key: string): boolean {
    return this.#indexes.some((prefix) => key.startsWith(prefix))
  }
}
