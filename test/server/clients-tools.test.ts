import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { HumanMessage, type ToolMessage } from '@langchain/core/messages'
import { tool as makeLangChainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, Output, stepCountIs, streamText, tool } from 'ai'
import { expect } from 'chai'
import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { CLIENT_TOOLS_PROJECT } from '../support/client-tools.ts'
import { closeServers, makeServer } from '../support/server.ts'

const City = z.object({ city: z.string() })
const QUESTION = 'weather Lima time Quito'
const ANSWER = 'weather: rain in Lima; time: noon in Quito'
const PNG = Buffer.from('png')

describe('tools, schemas and images with other clients, over /v1', () => {
  let baseURL: string
  beforeEach(async () => {
    const server = await makeServer({ compatApiKey: 'key-1234' }, CLIENT_TOOLS_PROJECT)
    baseURL = `${await server.listen()}/v1`
  })
  afterEach(closeServers)

  describe('openai', () => {
    const client = () => new OpenAI({ baseURL, apiKey: 'key-1234' })
    const parameters = { type: 'object', properties: { city: { type: 'string' } } }
    const define = (name: string, run: (city: string) => string) => ({
      type: 'function' as const,
      function: {
        name,
        description: name,
        parameters,
        parse: JSON.parse,
        function: ({ city }: { city: string }) => run(city),
      },
    })
    const weather = define('weather', (city) => `rain in ${city}`)
    const time = define('time', (city) => `noon in ${city}`)
    const ask = (content: string) => ({ model: 'tools', messages: [{ role: 'user' as const, content }] })

    it('runs tools in two rounds, in parallel', async () => {
      const runner = client().chat.completions.runTools({ ...ask(QUESTION), tools: [weather, time] })
      expect(await runner.finalContent()).to.equal(ANSWER)
    })

    it('runs tools in a stream', async () => {
      const runner = client().chat.completions.runTools({ ...ask(QUESTION), tools: [weather, time], stream: true })
      expect(await runner.finalContent()).to.equal(ANSWER)
    })

    it('sends the failure of a tool', async () => {
      const parse = () => {
        throw new Error('no network')
      }
      const broken = { ...weather, function: { ...weather.function, parse } }
      const runner = client().chat.completions.runTools({ ...ask('weather Lima'), tools: [broken] })
      expect(await runner.finalContent()).to.equal('weather: no network')
    })

    it('streams calls through its helper', async () => {
      const { type, function: definition } = weather
      const tools = [{ type, function: { name: definition.name, parameters } }]
      const completion = await client()
        .chat.completions.stream({ ...ask('weather Lima'), tools })
        .finalChatCompletion()
      const [choice] = completion.choices
      expect(choice?.finish_reason).to.equal('tool_calls')
      expect(choice?.message.tool_calls?.[0]).to.deep.include({ id: 'call_1_0', type: 'function' })
    })

    it('parses answers with a schema', async () => {
      const format = zodResponseFormat(City, 'city')
      const completion = await client().chat.completions.parse({ ...ask('in Lima'), response_format: format })
      expect(completion.choices[0]?.message.parsed).to.deep.equal({ city: 'Lima' })
    })

    it('throws typed errors with a message', async () => {
      const failure = await client()
        .chat.completions.create({ ...ask('x'), model: 'tool' })
        .catch((error: unknown) => error)
      expect(failure).to.be.instanceOf(OpenAI.NotFoundError)
      expect(failure).to.include({ code: 'model_not_found', param: 'model', type: 'invalid_request_error' })
      expect((failure as Error).message).to.equal("404 There is no agent 'tool'. Did you mean 'tools'?")
    })
  })

  describe('the AI SDK', () => {
    const inputSchema = City
    const tools = {
      weather: tool({ inputSchema, execute: async ({ city }) => `rain in ${city}` }),
      time: tool({ inputSchema, execute: async ({ city }) => `noon in ${city}` }),
    }
    const models = () => ({
      openai: createOpenAI({ baseURL, apiKey: 'key-1234' }).chat,
      compatible: createOpenAICompatible({
        name: 'agent-host',
        baseURL,
        apiKey: 'key-1234',
        supportsStructuredOutputs: true,
      }),
    })
    const stopWhen = stepCountIs(3)

    for (const provider of ['openai', 'compatible'] as const) {
      describe(`with its provider ${provider}`, () => {
        it('runs tools in two rounds, in parallel', async () => {
          const { text, steps } = await generateText({
            model: models()[provider]('tools'),
            prompt: QUESTION,
            tools,
            stopWhen,
          })
          expect([text, steps.map(({ finishReason }) => finishReason)]).to.deep.equal([ANSWER, ['tool-calls', 'stop']])
        })

        it('runs tools in a stream', async () => {
          const result = streamText({ model: models()[provider]('tools'), prompt: QUESTION, tools, stopWhen })
          expect(await result.text).to.equal(ANSWER)
        })

        it('sends the failure of a tool', async () => {
          const weather = tool({
            inputSchema,
            execute: async (): Promise<string> => {
              throw new Error('no network')
            },
          })
          const model = models()[provider]('tools')
          const { text } = await generateText({ model, prompt: 'weather Lima', tools: { weather }, stopWhen })
          expect(text).to.equal('weather: no network')
        })

        it('gets an object that matches a schema', async () => {
          const output = Output.object({ schema: City })
          const result = await generateText({ model: models()[provider]('tools'), prompt: 'in Lima', output })
          expect(result.output).to.deep.equal({ city: 'Lima' })
        })

        it('sends an image as a file part', async () => {
          const file = { type: 'file' as const, data: PNG, mediaType: 'image/png' }
          const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'see' }, file] }]
          const { text } = await generateText({ model: models()[provider]('sight'), messages })
          expect(text).to.equal('see image/png 3')
        })
      })
    }
  })

  describe('LangChain', () => {
    const model = () => new ChatOpenAI({ model: 'tools', apiKey: 'key-1234', configuration: { baseURL } })
    const weather = makeLangChainTool(async ({ city }) => `rain in ${city}`, { name: 'weather', schema: City })

    it('binds tools, in two rounds', async () => {
      const bound = model().bindTools([weather])
      const asked = new HumanMessage('weather Lima weather Quito')
      const first = await bound.invoke([asked])
      const args = first.tool_calls?.map((call) => call.args)
      expect(args).to.deep.equal([{ city: 'Lima' }, { city: 'Quito' }])
      const outputs: ToolMessage[] = []
      for (const call of first.tool_calls ?? []) outputs.push(await weather.invoke({ ...call, type: 'tool_call' }))
      const second = await bound.invoke([asked, first, ...outputs])
      expect(second.content).to.equal('weather: rain in Lima; weather: rain in Quito')
    })

    it('streams calls', async () => {
      const stream = await model().bindTools([weather]).stream('weather Lima')
      let args = ''
      for await (const chunk of stream) args += chunk.tool_call_chunks?.map((call) => call.args).join('') ?? ''
      expect(args).to.equal('{"city":"Lima"}')
    })

    for (const method of ['jsonSchema', 'functionCalling'] as const) {
      it(`gets structured output by ${method}`, async () => {
        const structured = model().withStructuredOutput(City, { name: 'weather', method })
        expect(await structured.invoke('weather Lima')).to.deep.equal({ city: 'Lima' })
      })
    }
  })
})
