import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { parse, validate } from 'graphql'
import { readSchema } from '../../src/server/adapters/ui/queries/graphql.ts'
import { ask } from '../support/graphql.ts'
import { closeServers, makeServer } from '../support/server.ts'

const text = readFileSync(new URL('../../docs/debug-ui.md', import.meta.url), 'utf8')

describe('docs/debug-ui.md', () => {
  afterEach(closeServers)

  it('shows a query that works', async () => {
    const query = /```graphql\n(.*?)```/s.exec(text)?.[1] ?? ''
    expect(validate(readSchema(), parse(query))).deep.equal([])
    const server = await makeServer(
      { debug: true },
      { 'agents/example.yml': 'id: example\nmodules: [{ id: main, module: echo }]' },
    )
    expect(await ask(server, query)).include.keys('list_agents', 'agent_config', 'debug_log', 'runs')
  })

  it('lists every field of a trace line', async () => {
    const server = await makeServer({ debug: true })
    await server.host.run('echo', 'hello')
    await ask(server, '{ runs { total } }')
    const [line = ''] = (await server.project.read('debug/echo.jsonl')).split('\n')
    for (const field of Object.keys(JSON.parse(line)))
      expect([field, text.includes(`\`${field}\``)]).deep.equal([field, true])
  })
})
