import { openProject } from 'agent-host'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { SHOP_MODULES, shopAgent } from '../../support/shop.ts'
import { makeProject } from '../../support/temp-project.ts'

const beside = (name: string) =>
  shopAgent(
    name,
    `{ name: pay, arguments: { amount: 1 } }, { name: ${name}, arguments: { amount: 2 } }`,
    'approval_ttl: 3',
  )
const FILES = { ...SHOP_MODULES, 'agents/refund.yml': beside('refund'), 'agents/size.yml': beside('size') }

describe('an approval that expires beside one that is given', () => {
  for (const [agent, door] of [
    ['refund', 'project.resume'],
    ['refund', 'runs.answer'],
    ['size', 'project.resume'],
    ['size', 'runs.answer'],
  ] as const) {
    it(`of a program, ${agent === 'size' ? 'a question, ' : ''}by ${door}: the run goes on once, and reads that no one decided in time`, async () => {
      const files = await makeProject(FILES)
      await using project = await openProject({ projectDir: files.dir, logLevel: 'silent', drainTimeout: 0 })
      const runs = project.runs.of('')
      const { runId, pending } = await project.run(agent, 'please')
      const approve = { kind: 'approval', decision: 'approve' } as const
      const { open = [] } = (await runs.find(`resp_${runId}`)) ?? {}
      if (door === 'runs.answer') await runs.answer(new Map([[open[0]?.id ?? '', approve]]), 'me')
      else await project.resume(runId, [{ ...approve, callId: pending[0]?.callId ?? '' }])
      const last = await eventually(async () => {
        let info = await runs.find(`resp_${runId}`)
        while (info?.continuedBy) info = await runs.find(info.continuedBy)
        expect(info?.status).to.equal('completed')
        return info
      }, 12_000)
      expect(last?.text).to.match(/pay 1.*No one decided in time\./s)
      expect(await files.read('paid.txt')).to.equal('pay 1\n')
    }).timeout(20_000)
  }
})
