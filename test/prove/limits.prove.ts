// A limit of 100 requests a minute admits 98 to 100 of 150, by one server and by three, on SQLite, PostgreSQL and Redis, three minutes of each.
import { describeWith } from '../support/describe-with.ts'
import { expectLimitKept } from '../support/limit-walk.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'

const ROUNDS = 3

const KINDS = [
  { name: 'SQLite', isThere: true, startServer: undefined, option: '' },
  { name: 'PostgreSQL', isThere: hasPostgres(), startServer: startPostgres, option: 'schema' },
  { name: 'Redis', isThere: hasRedis(), startServer: startRedis, option: 'prefix' },
]

for (const { name, isThere, startServer, option } of KINDS) {
  describeWith(name, isThere, `limits on ${name}`, function () {
    this.timeout(10 * 60_000)
    let server: StoreServer | undefined
    let parts = 0

    before(async () => {
      server = await startServer?.()
    })
    after(() => server?.remove())

    for (const servers of [1, 3]) {
      it(`hold with ${servers === 1 ? 'one server' : `${servers} servers`}`, async () => {
        for (let round = 0; round < ROUNDS; round++) {
          await expectLimitKept(servers, server && `${server.url}?${option}=limits_${++parts}`)
        }
      })
    }
  })
}
