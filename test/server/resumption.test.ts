// Every way of deciding, refused for every reason: nothing decided is lost, and nothing runs twice.
import { Counter, proveRefused, proveReplaced, REFUSALS } from '../support/resumption-proof.ts'
import { CHAT_WAYS, MCP_WAYS, PROJECT_WAY, RESPONSES_WAYS } from '../support/resumption-ways.ts'

const WAYS = [...RESPONSES_WAYS, ...CHAT_WAYS, ...MCP_WAYS, PROJECT_WAY]

describe('a decision on SQLite', function () {
  this.timeout(20_000)
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
