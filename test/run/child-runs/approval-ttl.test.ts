import { openProject } from 'agent-host'
import { expect } from 'chai'
import { SHOP_MODULES, shopAgent } from '../../support/shop.ts'
import { makeProject } from '../../support/temp-project.ts'

describe('the approval_ttl of agents that call each other', () => {
  for (const [caller, callee] of [
    ['approval_ttl: 60', 'approval_ttl: 500'],
    ['approval_ttl: 500', 'approval_ttl: 60'],
    ['', 'approval_ttl: 60'],
    ['approval_ttl: 60', ''],
  ] as const) {
    it(`is the smaller one, and the inbox says when it expires (caller '${caller}', callee '${callee}')`, async () => {
      const parent = shopAgent('parent', '{ name: child, arguments: { message: hi } }', caller)
      const { dir } = await makeProject({
        ...SHOP_MODULES,
        'agents/child.yml': shopAgent('child', '{ name: pay, arguments: { amount: 1 } }', callee),
        'agents/parent.yml': parent.replace('module: pay }', 'module: tools/agents, config: { agents: [child] } }'),
      })
      await using project = await openProject({ projectDir: dir, logLevel: 'silent', drainTimeout: 0 })
      await project.run('parent', 'please')
      const { waiting } = await project.runs.of('').listWaiting()
      expect(waiting.map(({ createdAt, expiresAt }) => Number(expiresAt) - createdAt)).to.deep.equal([60])
    })
  }
})
