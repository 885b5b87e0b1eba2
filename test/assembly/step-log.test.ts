import { AgentHost } from 'agent-host'
import { expect } from 'chai'
import { logSteps } from '../../src/assembly/step-log.ts'
import { silentLog } from '../../src/protocols/log.ts'
import { makeRedact } from '../../src/redaction/redact.ts'
import { makeProject } from '../support/temp-project.ts'

const TOOLS = `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Tools', provides: [ToolProvider], create: () => ({
  listTools: () => ['look', 'deny', 'refuse', 'slip', 'say'].map((name) => ({ name, description: name, parameters: { type: 'object' } })),
  async executeTool(name, { text }) {
    if (name === 'say') return { text }
    if (name === 'look') return { text: 'one\\n two' }
    if (name === 'deny') return { text: 'HTTP 404: no such order', isError: true }
    throw name === 'refuse' ? new Error('Out of order') : new TypeError('x is not a function')
  } }) })`

describe('the log of steps', () => {
  it('tells each call of a tool by its name: with its answer, or as a warning with what went wrong', async () => {
    const host = new AgentHost({ projectDir: (await makeProject({ 'modules/tools.ts': TOOLS })).dir })
    const lines: string[] = []
    const note = (level: string) => (line: string) => lines.push(`${level} ${line.split('\n', 1)[0]}`)
    logSteps(host, { ...silentLog, info: note('info'), warn: note('warn') }, (text) => text)
    const tool_calls = ['look', 'deny', 'refuse', 'slip'].map((name) => ({
      id: `c_${name}`,
      name,
      arguments: { n: 1 },
    }))
    const llm = { id: 'llm', module: 'llm/mock', config: { replies: [{ tool_calls }, { text: 'done' }] } }
    const tools = { id: 'tools', module: 'tools' }
    await host.register({ id: 'desk', modules: [llm, tools, { id: 'loop', module: 'orchestrator/tool-loop' }] })
    await host.run('desk', 'hi')
    await host.close(0)
    expect(lines.sort()).deep.equal([
      'info desk  look({"n":1}) → one two',
      'warn desk  deny({"n":1}) → failed: HTTP 404: no such order',
      'warn desk  refuse({"n":1}) → failed: Out of order',
      'warn desk  slip({"n":1}) → failed: TypeError: x is not a function',
    ])
  })

  it('leaves no part of a secret where it cuts', async () => {
    const host = new AgentHost({ projectDir: (await makeProject({ 'modules/tools.ts': TOOLS })).dir })
    const lines: string[] = []
    const note = (line: string) => void lines.push(line)
    logSteps(host, { ...silentLog, info: note, warn: note }, makeRedact({ MY_TOKEN: 'canary-0123456789' }))
    const text = `${'x'.repeat(185)}canary-0123456789${'y'.repeat(100)}`
    const tool_calls = [{ id: 'c_1', name: 'say', arguments: { text } }]
    const llm = { id: 'llm', module: 'llm/mock', config: { replies: [{ tool_calls }, { text: 'done' }] } }
    const tools = { id: 'tools', module: 'tools' }
    await host.register({ id: 'desk', modules: [llm, tools, { id: 'loop', module: 'orchestrator/tool-loop' }] })
    await host.run('desk', 'hi')
    await host.close(0)
    expect(lines).lengthOf(1)
    expect(lines[0]).match(/^desk {2}say\(.*… \(\d+ characters\)\) → x{185}.*… \(\d+ characters\)$/)
    expect(lines[0]).not.contain('canary')
  })
})
