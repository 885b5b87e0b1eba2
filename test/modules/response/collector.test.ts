import { AgentHost, type Part } from 'agent-host'
import { expect } from 'chai'

describe('response/collector', () => {
  it('hands on in one piece what an agent says', async () => {
    const host = new AgentHost()
    const loop = { id: 'loop', module: 'orchestrator/tool-loop' }
    const llm = { id: 'llm', module: 'llm/mock', config: { replies: ['one two three'] } }
    await host.register({ id: 'pieces', modules: [loop, llm] })
    await host.register({ id: 'whole', modules: [loop, llm, { id: 'collector', module: 'response/collector' }] })
    const parts: Part[] = []
    const onPart = (part: Part) => void parts.push(part)
    await host.run('pieces', 'x', { onPart })
    expect(parts.splice(0)).to.have.lengthOf(3)
    const { text } = await host.run('whole', 'x', { onPart })
    expect(text).to.equal('one two three')
    expect(parts).to.deep.equal([{ type: 'text', text: 'one two three' }])
    await host.close()
  })
})
