import { AgentHost, type Message } from 'agent-host'
import { expect } from 'chai'
import { plays, twoCalls } from '../../suites/vendor-suite.ts'
import { startModelServer } from '../../support/fake-model-server.ts'
import { anthropicWire } from '../../support/model-wires.ts'
import { makeProject } from '../../support/temp-project.ts'

const tool = `import { defineTool, Type } from 'agent-host'
export const weather = defineTool({
  description: 'Tells the weather.',
  parameters: Type.Object({ city: Type.String() }),
  execute: ({ city }) => 'snow in ' + city,
})`

const agent = (address: string) => `id: thinker
modules:
  - id: llm
    module: llm/anthropic
    config: { model: claude-sonnet-4-5, base_url: "${address}", api_key: none, thinking_budget: 2000 }
  - { id: tools, module: tools/local, config: { files: [tools/weather.ts] } }
  - { id: orchestrator, module: orchestrator/tool-loop }
`

describe('reasoning of a model that calls tools', () => {
  for (const listens of [false, true]) {
    it(`goes back to its vendor in the next step of an agent${listens ? ' with a listener' : ''}`, async () => {
      const server = await startModelServer(plays(anthropicWire, twoCalls), plays(anthropicWire, { text: ['Snow.'] }))
      const { dir } = await makeProject({ 'tools/weather.ts': tool })
      const host = new AgentHost({ projectDir: dir, environment: {} })
      try {
        if (listens) host.onEvent(() => {})
        await host.register(agent(server.url))
        const { text } = await host.run('thinker', 'Weather?')
        expect(text).to.equal('I look.\n\nSnow.')
        const messages = server.requests[1]?.body.messages as { content: { type: string; content?: string }[] }[]
        expect(messages[1]?.content[0]).to.deep.equal({ type: 'thinking', thinking: 'let me see', signature: 'signed' })
        expect(messages[2]?.content.map(({ content }) => content)).to.deep.equal(['snow in Oslo', 'snow in Lima'])
      } finally {
        await host.close(0)
        await server.stop()
      }
    })
  }

  it('goes back to its vendor in a later turn, in another process, from the trail of the first', async () => {
    const server = await startModelServer(plays(anthropicWire, twoCalls), plays(anthropicWire, { text: ['Snow.'] }))
    const { dir } = await makeProject({ 'tools/weather.ts': tool })
    const turn = async (messages: string | readonly Message[]) => {
      const host = new AgentHost({ projectDir: dir, environment: {} })
      await host.register(agent(server.url))
      return host.run('thinker', messages).finally(() => host.close(0))
    }
    try {
      const { trail } = await turn('Weather?')
      await turn([...JSON.parse(JSON.stringify(trail)), { role: 'user', content: 'And now?' }])
      const messages = server.requests.at(-1)?.body.messages as { role: string; content: object[] }[]
      expect(messages[1]?.content[0]).to.deep.equal({ type: 'thinking', thinking: 'let me see', signature: 'signed' })
      expect(messages.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'user', 'assistant', 'user'])
    } finally {
      await server.stop()
    }
  })
})
