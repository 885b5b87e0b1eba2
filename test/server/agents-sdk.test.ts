import { Agent, handoff, Runner, setTracingDisabled, tool } from '@openai/agents-core'
import { OpenAIProvider } from '@openai/agents-openai'
import { expect } from 'chai'
import { z } from 'zod'
import { CLIENT_TOOLS_PROJECT } from '../support/client-tools.ts'
import { closeServers, makeServer } from '../support/server.ts'

const weather = tool({
  name: 'weather',
  description: 'weather',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `rain in ${city}`,
})
const time = tool({
  name: 'time',
  description: 'time',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `noon in ${city}`,
})
const broken = tool({
  name: 'weather',
  description: 'weather',
  parameters: z.object({ city: z.string() }),
  execute: () => {
    throw new Error('no network')
  },
})
const QUESTION = 'weather Lima time Quito'
const ANSWER = 'weather: rain in Lima; time: noon in Quito'

describe('@openai/agents with agents as models, over /v1', () => {
  let baseURL: string
  before(() => setTracingDisabled(true))
  beforeEach(async () => {
    const server = await makeServer(
      { adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter'] },
      CLIENT_TOOLS_PROJECT,
    )
    baseURL = `${await server.listen()}/v1`
  })
  afterEach(closeServers)

  for (const useResponses of [false, true]) {
    describe(useResponses ? 'by responses' : 'by chat completions', () => {
      const runner = () =>
        new Runner({ modelProvider: new OpenAIProvider({ baseURL, apiKey: 'unused', useResponses }) })

      it('runs function tools in two rounds, in parallel', async () => {
        const agent = new Agent({ name: 'Travel', model: 'tools', tools: [weather, time] })
        const { finalOutput, rawResponses } = await runner().run(agent, QUESTION)
        expect([finalOutput, rawResponses.length]).to.deep.equal([ANSWER, 2])
      })

      it('runs function tools in a stream', async () => {
        const agent = new Agent({ name: 'Travel', model: 'tools', tools: [weather, time] })
        const streamed = await runner().run(agent, QUESTION, { stream: true })
        await streamed.completed
        expect(streamed.finalOutput).to.equal(ANSWER)
      })

      it('sends the failure of a tool', async () => {
        const agent = new Agent({ name: 'Travel', model: 'tools', tools: [broken] })
        const { finalOutput } = await runner().run(agent, 'weather Lima')
        expect(finalOutput).to.match(/^weather: .*no network/)
      })

      it('hands off to another agent, which runs its own tools', async () => {
        const specialist = new Agent({ name: 'Specialist', model: 'sight' })
        const transfer = handoff(specialist, { toolNameOverride: 'transfer' })
        const agent = new Agent({ name: 'Desk', model: 'tools', handoffs: [transfer] })
        const { finalOutput, lastAgent } = await runner().run(agent, 'transfer me')
        expect([lastAgent?.name, finalOutput]).to.deep.equal(['Specialist', 'transfer me '])
      })
    })
  }
})
