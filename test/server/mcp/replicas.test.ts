import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { Balancer } from '../../support/balancer.ts'
import { describeWith } from '../../support/describe-with.ts'
import { makeMcp } from '../../support/mcp.ts'
import { closeServers } from '../../support/server.ts'
import { SHOP_MODULES, shopAgent } from '../../support/shop.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../../support/store-servers.ts'

const SHOP = { ...SHOP_MODULES, 'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }') }

const KINDS = [
  { name: 'PostgreSQL', isThere: hasPostgres(), startServer: startPostgres },
  { name: 'Redis', isThere: hasRedis(), startServer: startRedis },
]

for (const { name, isThere, startServer } of KINDS) {
  describeWith(name, isThere, `MCP, two servers that share ${name}`, () => {
    let store: StoreServer

    before(async () => {
      store = await startServer()
    })

    afterEach(closeServers)
    after(() => store?.remove())

    it('a conversation continues on the other', async () => {
      const one = await makeMcp({ store: store.url })
      const other = await makeMcp({ store: store.url })
      const { result } = await one.call('guide', { message: 'say a' })
      const [, conversation_id] = /^conversation_id: (.*)$/.exec(result.content[1].text) ?? []
      const { result: next } = await other.call('guide', { message: 'history', conversation_id })
      expect(JSON.parse(next.content[0].text)).to.deep.equal(['user: say a', 'assistant: a', 'user: history'])
    })

    for (const [title, mode] of [
      ['', 'auto'],
      [', by clients of the earlier versions', undefined],
    ] as const)
      it(`a call that waits on one is answered on the other, and executed once${title}`, async () => {
        const one = await makeMcp({ store: store.url }, SHOP)
        const other = await makeMcp({ store: store.url, projectDir: one.project.dir })
        const balancer = await Balancer.open([await one.listen(), await other.listen()])
        const capabilities = { elicitation: { form: {} } }
        const client = new Client(
          { name: 'test', version: '1.0.0' },
          { capabilities, ...(mode ? { versionNegotiation: { mode } } : {}) },
        )
        client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} }) as never)
        await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', balancer.url)))
        for (let call = 0; call < 3; call++) {
          const { content } = await client.callTool({ name: 'shop', arguments: { message: 'pay' } })
          expect(content).to.deep.equal([{ type: 'text', text: 'Results: pay 40' }])
        }
        expect(await one.project.read('paid.txt')).to.equal('pay 40\npay 40\npay 40\n')
        await client.close()
        await balancer.close()
      })

    it('a client of an earlier version that answers with an error gives its call up, whichever server it tells', async () => {
      const one = await makeMcp({ store: store.url }, SHOP)
      const other = await makeMcp({ store: store.url, projectDir: one.project.dir })
      const balancer = await Balancer.open([await one.listen(), await other.listen()])
      const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } } })
      client.setRequestHandler('elicitation/create', async () => {
        throw new Error('There is no window to ask in.')
      })
      await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', balancer.url)))
      for (let call = 0; call < 3; call++) {
        const failed = await client.callTool({ name: 'shop', arguments: { message: 'pay' } }).catch(String)
        expect(failed).to.contain('The call was given up')
      }
      expect(one.project.exists('paid.txt')).to.equal(false)
      await client.close()
      await balancer.close()
    })
  })
}
