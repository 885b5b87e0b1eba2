// Every way of deciding, refused for every reason: nothing decided is lost, and nothing runs twice. `npm run prove waiting` has all on all stores.
import { describeWith } from '../support/describe-with.ts'
import { Counter, proveRefused, proveReplaced, REFUSALS } from '../support/resumption-proof.ts'
import { RESPONSES_WAYS, WAYS } from '../support/resumption-ways.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'

/** Refusals in which stores differ. */
const SHARED = REFUSALS.filter(({ name }) => /full|leaves|commit/.test(name) && !/queue/.test(name))

describe('a decision on SQLite', () => {
  let counter: Counter

  beforeEach(async () => {
    counter = await Counter.open()
  })
  afterEach(() => counter.close())

  for (const refusal of REFUSALS) {
    const ways = WAYS.filter((way) => refusal.cannotBe(way, false) === undefined)
    it(`stays untaken when ${refusal.name}, in ${ways.length} ways`, () => proveRefused(counter, refusal, ways))
  }

  it('about an earlier version of the agent makes the run ask again', async () => {
    for (const way of RESPONSES_WAYS.filter(({ name }) => !/not stored/.test(name))) await proveReplaced(counter, way)
  })
})

for (const [name, isThere, startServer] of [
  ['PostgreSQL', hasPostgres(), startPostgres],
  ['Redis', hasRedis(), startRedis],
] as const) {
  describeWith(name, isThere, `a decision on ${name}`, () => {
    let store: StoreServer
    let counter: Counter

    before(async () => {
      store = await startServer()
    })
    beforeEach(async () => {
      counter = await Counter.open(store.directUrl)
    })
    afterEach(() => counter?.close())
    after(() => store?.remove())

    for (const refusal of SHARED) {
      const ways = WAYS.filter((way) => refusal.cannotBe(way, true) === undefined)
      it(`stays untaken when ${refusal.name}, in ${ways.length} ways`, () => proveRefused(counter, refusal, ways))
    }
  })
}
