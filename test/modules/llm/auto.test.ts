import { expect } from 'chai'
import auto from '../../../modules/llm/auto.ts'
import { collect, textOf } from '../../suites/llm-suite.ts'
import { startModelServer, streams } from '../../support/fake-model-server.ts'
import { makeContext, says } from '../../support/fake-run.ts'

async function choose(environment: Record<string, string>) {
  const context = makeContext({ environment })
  const llm = await auto.create({}, {}, context)
  return { llm, lines: context.lines }
}

describe('llm/auto', () => {
  it('answers offline without a key; an empty one is none', async () => {
    const { llm, lines } = await choose({ OPENAI_API_KEY: '' })
    expect(lines).to.deep.equal(['info no provider key is in the environment: the offline model answers'])
    expect(textOf(await collect(llm, { messages: [says('hi')] }))).to.match(/offline model/)
  })

  it('takes the provider whose key is there, and the model that is named', async () => {
    expect((await choose({ ANTHROPIC_API_KEY: 'k' })).lines).to.deep.equal([
      'info Anthropic answers, model claude-haiku-4-5',
    ])
    expect((await choose({ GEMINI_API_KEY: 'k', AGENT_HOST_MODEL: 'gemini-x' })).lines).to.deep.equal([
      'info Google answers, model gemini-x',
    ])
  })

  it('asks at the address that the environment names', async () => {
    const server = await startModelServer(streams([{ content: 'from there' }]))
    try {
      const { llm } = await choose({ OPENAI_API_KEY: 'k-1', OPENAI_BASE_URL: server.url })
      expect(textOf(await collect(llm, { messages: [says('hi')] }))).to.equal('from there')
      expect(server.requests[0]?.headers.authorization).to.equal('Bearer k-1')
      const ollama = await choose({ OLLAMA_BASE_URL: server.url.replace('/v1', '') })
      expect(textOf(await collect(ollama.llm, { messages: [says('hi')] }))).to.equal('from there')
      expect(server.requests[1]?.headers.authorization).to.equal(undefined)
    } finally {
      await server.stop()
    }
  })
})
