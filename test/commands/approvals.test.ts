import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { makeResponses, textOf } from '../support/responses.ts'
import { closeServers } from '../support/server.ts'
import { SHOP_MODULES, shopAgent } from '../support/shop.ts'

describe('approvals in the terminal', () => {
  afterEach(closeServers)

  it('are listed and decided once; mistakes are explained', async () => {
    const agent = shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }')
    const server = await makeResponses({}, { ...SHOP_MODULES, 'agents/shop.yml': agent })
    const url = await server.listen()
    const run = (...args: string[]) => callCli(['approvals', ...args, '--url', url], { cwd: server.project.dir })
    const failure = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await run(...args)
      expect([exitCode, stdout]).to.deep.equal([1, ''])
      return stderr.trimEnd().split(/\n\s*/)
    }
    expect((await run()).stdout).to.equal('No pending approvals.\n')
    await server.create('please', { model: 'shop' })
    const [id = '', wish = ''] = (await run()).stdout.split(/\n\s*/)
    expect([id.slice(0, 5), wish]).to.deep.equal(['mcpr_', 'shop wants to call pay({"amount":40})'])
    expect(await failure('approve', 'mcpr_1')).to.deep.equal([
      'Error: Approval not found.',
      '`agent-host approvals` lists those that wait.',
    ])
    expect(await failure('edit', id, '--arguments', '{"amount": "lots"}')).to.deep.equal([
      'Error: amount must be number.',
    ])
    const { stdout } = await run('approve', id)
    const [, next = ''] = /^Approved: pay\. It continues as (resp_\S+)\.\n$/.exec(stdout) ?? []
    expect(textOf(await server.whenEnded(next))).to.equal('Results: pay 40')
    expect(await failure('reject', id)).to.deep.equal(['Error: The approval is already approved.'])
  })
})
