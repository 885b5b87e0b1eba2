import { AgentHost, type Attachment, type RunEvent } from 'agent-host'
import { expect } from 'chai'
import collector from '../../../modules/response/collector.ts'
import { makeContext } from '../../support/fake-run.ts'

describe('response/collector', () => {
  it("sends the agent's text in one piece", async () => {
    const host = new AgentHost()
    const loop = { id: 'loop', module: 'orchestrator/tool-loop' }
    const llm = { id: 'llm', module: 'llm/mock', config: { replies: ['one two three'] } }
    await host.register({ id: 'pieces', modules: [loop, llm] })
    await host.register({ id: 'whole', modules: [loop, llm, { id: 'collector', module: 'response/collector' }] })
    const parts: RunEvent[] = []
    const onEvent = (event: RunEvent) => void (event.type === 'text' && parts.push(event))
    await host.run('pieces', 'x', { onEvent })
    expect(parts.splice(0)).to.have.lengthOf(3)
    const { text } = await host.run('whole', 'x', { onEvent })
    expect(text).to.equal('one two three')
    expect(parts).to.deep.equal([{ type: 'text', text: 'one two three' }])
    await host.close()
  })

  it('passes attachments on at once, and shows its collected text', async () => {
    const sent: unknown[] = []
    const push = (value: unknown) => void sent.push(value)
    const response = {
      respondText: push,
      respondReasoning: push,
      respondImage: push,
      respondAudio: push,
      respondFile: push,
      respondEvent: (...event: unknown[]) => push(event),
      getResponse: () => ({ text: 'before ', attachments: [] }),
    }
    const filter = await collector.create({ response }, {}, makeContext())
    const image: Attachment = { mediaType: 'image/png', data: new Uint8Array([1]) }
    await filter.respondText('one ')
    await filter.respondImage(image)
    await filter.respondText('two')
    expect(sent).to.deep.equal([image])
    expect(await filter.getResponse()).to.deep.equal({ text: 'before one two', attachments: [] })
    await filter[Symbol.asyncDispose]?.()
    expect(sent).to.deep.equal([image, 'one two'])
  })
})
