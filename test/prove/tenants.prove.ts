// What a tenant stores does not exist for another: by every operation, on SQLite, PostgreSQL and Redis, 100 responses of each.
import { describeWith } from '../support/describe-with.ts'
import { closeServers, makeServer } from '../support/server.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'
import { TENANT_KEYS, TENANT_OPTIONS, TENANT_PROJECT, walkAsTenants } from '../support/tenant-walk.ts'

/** Each stores four responses a round. */
const ROUNDS = 25

const KINDS = [
  { name: 'SQLite', isThere: true, startServer: undefined },
  { name: 'PostgreSQL', isThere: hasPostgres(), startServer: startPostgres },
  { name: 'Redis', isThere: hasRedis(), startServer: startRedis },
]

for (const { name, isThere, startServer } of KINDS) {
  describeWith(name, isThere, `tenants on ${name}`, function () {
    this.timeout(10 * 60_000)
    let server: StoreServer | undefined

    before(async () => {
      server = await startServer?.()
    })
    after(() => server?.remove())
    afterEach(closeServers)

    it('never meet', async () => {
      const store = server ? { store: server.url } : {}
      const files = { ...TENANT_PROJECT, 'keys.yml': TENANT_KEYS }
      const { listen } = await makeServer({ ...TENANT_OPTIONS, ...store }, files)
      await walkAsTenants(await listen(), ROUNDS)
    })
  })
}
