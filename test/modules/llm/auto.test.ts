import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { AgentHost, type Static } from 'agent-host'
import { expect } from 'chai'
import auto from '../../../modules/llm/auto.ts'
import { silentLog } from '../../../src/protocols/log.ts'
import { collect, textOf } from '../../suites/llm-suite.ts'
import { failure } from '../../support/connect-model.ts'
import { startModelServer, streams } from '../../support/fake-model-server.ts'
import { makeContext, says } from '../../support/fake-run.ts'
import { makeProject } from '../../support/temp-project.ts'

async function choose(environment: Record<string, string>, config: Static<typeof auto.config> = {}) {
  const context = makeContext({ environment })
  const llm = await auto.create({}, config, context)
  return { llm, lines: context.lines }
}

describe('llm/auto', () => {
  it('answers offline without a key, or with an empty one', async () => {
    const { llm, lines } = await choose({ OPENAI_API_KEY: '' })
    expect(lines).to.deep.equal(['info found no key of a vendor, so the offline model answers'])
    expect(textOf(await collect(llm, { messages: [says('hi')] }))).to.match(/offline model/)
    const one = await startModelServer(streams([{ content: 'x' }]))
    try {
      const second = await choose({ OLLAMA_BASE_URL: '', OLLAMA_HOST: one.url })
      expect(textOf(await collect(second.llm, { messages: [says('hi')] }))).to.equal('x')
    } finally {
      await one.stop()
    }
  })

  it('uses the provider whose key is set, and the configured model', async () => {
    expect((await choose({ ANTHROPIC_API_KEY: 'k' })).lines).to.deep.equal([
      'info using Anthropic, model claude-haiku-4-5',
    ])
    expect((await choose({ GEMINI_API_KEY: 'k', AGENT_HOST_MODEL: 'gemini-x' })).lines).to.deep.equal([
      'info using Google, model gemini-x',
    ])
  })

  it("prefers providers in documented order, and the config's model", async () => {
    const several = { XAI_API_KEY: 'k', GROQ_API_KEY: 'k', OLLAMA_HOST: '127.0.0.1', GOOGLE_GENERATIVE_AI_API_KEY: 'k' }
    expect((await choose(several)).lines).to.deep.equal(['info using Google, model gemini-2.5-flash'])
    const named = await choose({ ...several, AGENT_HOST_MODEL: 'from-env' }, { model: 'from-config' })
    expect(named.lines).to.deep.equal(['info using Google, model from-config'])
  })

  it("accepts every form of Ollama's address", async () => {
    const server = await startModelServer(streams([{ content: 'x' }]))
    const port = new URL(server.url).port
    try {
      for (const host of [
        `127.0.0.1:${port}`,
        `0.0.0.0:${port}`,
        `:${port}`,
        `http://127.0.0.1:${port}/`,
        server.url,
      ]) {
        const { llm } = await choose({ OLLAMA_HOST: host })
        expect(textOf(await collect(llm, { messages: [says('hi')] })), host).to.equal('x')
      }
    } finally {
      await server.stop()
    }
    const failure = await choose({ OLLAMA_HOST: 'not an address' }).catch((error: Error) => error.message)
    expect(failure).to.equal("The Ollama address 'not an address' in the environment is not a URL.")
  })

  it('calls the address from the environment', async () => {
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

  it("calls a vendor's own API if there is a key and no other address", async () => {
    const { llm, lines } = await choose({ ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' })
    expect(lines).to.deep.equal(['info using Anthropic, model claude-haiku-4-5'])
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.contain(
      "the model 'claude-haiku-4-5' of llm/anthropic at http://127.0.0.1:9/v1 did not answer",
    )
  })

  it("calls the OpenAI-style endpoint if the vendor's package is missing, and names the package", async () => {
    const { dir } = await makeProject({})
    // Ejected, it looks for packages in the project alone.
    await cp(new URL('../../../modules/llm/', import.meta.url), join(dir, 'modules/llm'), { recursive: true })
    const lines: string[] = []
    const log = (message: string) => {
      lines.push(message)
    }
    const host = new AgentHost({
      projectDir: dir,
      environment: { GEMINI_API_KEY: 'k' },
      log: { debug: log, info: log, warn: log, error: log },
    })
    const gateway = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'https://gateway.example' }
    const other = new AgentHost({ projectDir: dir, environment: gateway, log: silentLog })
    try {
      const refused = await other
        .register(
          'id: any\nmodules:\n  - { id: llm, module: llm/auto }\n  - { id: o, module: orchestrator/tool-loop }\n',
        )
        .catch((error: Error) => error.message)
      expect(refused).to.include(
        "ANTHROPIC_BASE_URL is the address of Anthropic's own API. In the project: npm install @ai-sdk/anthropic",
      )
      await host.register(
        'id: any\nmodules:\n  - { id: llm, module: llm/auto }\n  - { id: o, module: orchestrator/tool-loop }\n',
      )
      expect(lines.filter((line) => line.includes('Google'))).to.deep.equal([
        'any/llm: using Google, model gemini-2.5-flash',
        'any/llm: using the OpenAI-style endpoint of Google; for its own API: npm install @ai-sdk/google',
      ])
    } finally {
      await host.close(0)
      await other.close(0)
    }
  })
})
