import { expect } from 'chai'
import { CountedServer } from '../../bench/counted-server.ts'
import { differencesFromPin } from '../../bench/pins.ts'
import { REQUESTS } from '../../bench/walks.ts'

/** Numbers of functions and promises do not depend on the machine: a request that costs more is seen on a busy one, too. */
describe('What a request runs', function () {
  // Code that is counted is not optimized.
  this.timeout(120_000)
  let server: CountedServer
  before(async () => {
    server = await CountedServer.start()
  })
  after(() => server.stop())

  for (const request of REQUESTS) {
    it(`${request.title}: as many functions and promises as bench/pins.json says`, async () => {
      const differences = differencesFromPin(request.title, await server.count(request))
      expect(differences.join('\n')).to.equal('')
    })
  }
})
