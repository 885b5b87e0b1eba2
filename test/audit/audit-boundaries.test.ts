import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AgentHost, defineModule, TextMessageHandler, ToolProvider } from 'agent-host'
import { expect } from 'chai'
import { Audit } from '../../src/audit/audit.ts'
import { silentLog } from '../../src/protocols/log.ts'
import { makeProject } from '../support/temp-project.ts'

describe('the audit log of a tool call', () => {
  it('has a line without arguments where a module passes what is no JSON: the tool takes it', async () => {
    const { dir } = await makeProject()
    const host = new AgentHost()
    const path = join(dir, 'audit.log')
    new Audit(path, { serverName: 'one' }, host, silentLog)
    const circle: Record<string, unknown> = {}
    circle.self = circle
    const given: readonly unknown[] = [{}, undefined, { count: 1n }, circle]
    const taken: unknown[] = []
    const Tool = defineModule({
      name: 'Tool',
      provides: [ToolProvider],
      create: () => ({
        listTools: () => [],
        async executeTool(_name, args) {
          taken.push(args)
          return { text: 'done' }
        },
      }),
    })
    const Caller = defineModule({
      name: 'Caller',
      provides: [TextMessageHandler],
      uses: { tools: ToolProvider },
      create: ({ tools }) => ({
        async handleText(_text, run) {
          for (const args of given) await tools.executeTool('look', args as never, run)
        },
      }),
    })
    const modules = [
      { id: 'tool', module: Tool },
      { id: 'main', module: Caller },
    ]
    await host.register({ id: 'agent', modules })
    expect((await host.run('agent', 'hi')).status).to.equal('completed')
    expect(taken).to.deep.equal(given)
    const lines = readFileSync(path, 'utf8').trim().split('\n')
    const calls = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'tool_call')
    expect(calls.map(({ tool, arguments: mac }) => [tool, typeof mac])).to.deep.equal([
      ['look', 'string'],
      ['look', 'undefined'],
      ['look', 'undefined'],
      ['look', 'undefined'],
    ])
  })
})
