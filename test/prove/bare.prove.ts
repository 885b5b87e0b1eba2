// The commands of the README work on Debian's minimal system with Node and npm alone, on Node 20 as root and on Node 24 as a user: no test fails.
import { expect } from 'chai'
import { BareMachine } from '../support/bare-machine.ts'

/** The demo serves until it is stopped. */
const DEMO = `(setsid npm run demo > /tmp/demo.log 2>&1 & echo $! > /tmp/demo.pid)
for second in $(seq 120); do grep -q 'Still serving' /tmp/demo.log && break; sleep 1; done
kill -- -$(cat /tmp/demo.pid); cat /tmp/demo.log; grep -q '^Answer: .*GMT' /tmp/demo.log`

const MISSING = ['git', 'python3', 'redis-server', 'postgres', 'chromium', 'sudo', 'make', 'cc']

describe('a bare machine', () => {
  let machine: BareMachine

  before(async function () {
    this.timeout(5 * 60_000)
    machine = await BareMachine.install()
  })
  after(async function () {
    this.timeout(5 * 60_000)
    await machine?.remove()
  })

  for (const [node, npm, user] of [
    [20, 10, 'root'],
    [24, 11, 'dev'],
  ] as const) {
    it(`runs the demo and every test: Node ${node}, as ${user}`, async () => {
      const container = await machine.start({ node, npm })
      expect(await container.run(user, 'node --version')).to.match(new RegExp(`^v${node}\\.`))
      expect(await container.run(user, `for name in ${MISSING.join(' ')}; do command -v $name; done; true`)).to.equal(
        '',
      )
      await container.run(user, `npm ci && ${DEMO}`)
      // As in continuous integration: a test that a slow machine fails is repeated.
      const tested = await container.run(user, 'CI=true npm cit')
      const [, passing] = /(\d+) passing/.exec(tested) ?? []
      expect(Number(passing)).to.be.above(1800)
      expect(tested).not.to.match(/\d+ failing/)
      console.log(`      ${passing} tests passed; skipped, because of what is missing:`)
      for (const reason of new Set(tested.match(/skipped: [^)\n]+/g))) console.log(`      ${reason}`)
    }).timeout(40 * 60_000)
  }
})
