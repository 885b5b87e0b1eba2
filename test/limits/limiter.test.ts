import { expect } from 'chai'
import { StoredLimiter } from '../../src/limits/limiter.ts'
import { silentLog } from '../../src/protocols/log.ts'
import { openStore } from '../../src/store/open-store.ts'
import { makeProject } from '../support/temp-project.ts'

describe('the limits of runs that a worker takes up', () => {
  it('are those that the latest was accepted with', async () => {
    const { dir } = await makeProject({})
    const records = await openStore({ store: 'sqlite', dir, projectDir: dir })
    try {
      const limiter = new StoredLimiter({ records, projectDir: dir, log: silentLog })
      const takeUp = (id: string, tokens: number) =>
        limiter.resume([{ tenant: 'acme', key: 'ada', limits: { tokens_per_day: tokens } }], id)
      const first = takeUp('resp_1', 100)
      await first.spend({ inputTokens: 50, outputTokens: 0 }, undefined)
      await first.admitCall()
      const second = takeUp('resp_2', 40)
      for (const quota of [first, second]) {
        const refusal = await quota.admitCall().catch((error) => error)
        expect(refusal.message).to.match(/^The limit of 40 tokens per day is reached\./)
      }
    } finally {
      await records.close()
    }
  })
})
