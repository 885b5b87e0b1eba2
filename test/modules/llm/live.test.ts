import type { LLM, Message, Module, ModuleContext } from 'agent-host'
import { expect } from 'chai'
import { Value } from 'typebox/value'
import anthropic from '../../../modules/llm/anthropic.ts'
import bedrock from '../../../modules/llm/bedrock.ts'
import google from '../../../modules/llm/google.ts'
import ollama from '../../../modules/llm/ollama.ts'
import openai from '../../../modules/llm/openai.ts'
import { collect, textOf } from '../../suites/llm-suite.ts'
import { weather } from '../../suites/vendor-suite.ts'
import { makeContext, makeRun, says } from '../../support/fake-run.ts'

interface LiveCase {
  readonly module: {
    readonly config: Module['config']
    create(dependencies: Record<never, never>, config: never, context: ModuleContext): LLM | Promise<LLM>
  }
  /** Without it the vendor is not asked. */
  readonly variable: string
  readonly config: { readonly model: string }
}

/** The smallest model of each that thinks and calls tools. */
const CASES: Readonly<Record<string, LiveCase>> = {
  'llm/openai': { module: openai, variable: 'OPENAI_API_KEY', config: { model: 'gpt-5-mini' } },
  'llm/anthropic': { module: anthropic, variable: 'ANTHROPIC_API_KEY', config: { model: 'claude-haiku-4-5' } },
  'llm/google': { module: google, variable: 'GEMINI_API_KEY', config: { model: 'gemini-2.5-flash' } },
  'llm/bedrock': {
    module: bedrock,
    variable: 'AWS_BEARER_TOKEN_BEDROCK',
    config: { model: 'us.anthropic.claude-haiku-4-5-20251001-v1:0' },
  },
  'llm/ollama': { module: ollama, variable: 'OLLAMA_HOST', config: { model: 'llama3.2' } },
}

describe('real vendors', () => {
  for (const [reference, { module, variable, config }] of Object.entries(CASES)) {
    const isAsked = Boolean(process.env[variable])
    const title = `${reference} calls a tool, and answers with its result`

    ;(isAsked ? it : it.skip)(isAsked ? title : `${title} (not asked: ${variable} is not set)`, async function () {
      this.timeout(120_000)
      const given = Value.Parse(module.config, Value.Default(module.config, config))
      const llm = await module.create({}, given as never, makeContext({ environment: process.env }))
      const run = makeRun()
      const messages: Message[] = [says('How is the weather in Oslo? Use the tool.')]
      const parts = await collect(llm, { messages, tools: [weather] }, run)
      const toolCalls = parts.flatMap((part) => (part.type === 'tool_call' ? [part.call] : []))
      expect(toolCalls[0]).to.deep.include({ name: 'weather', arguments: { city: 'Oslo' } })
      expect(parts.at(-1)).to.deep.equal({ type: 'finish', reason: 'tool_calls' })
      messages.push({ role: 'assistant', content: textOf(parts), toolCalls })
      for (const { id } of toolCalls) messages.push({ role: 'tool', content: 'Heavy snow.', toolCallId: id })
      const answer = await collect(llm, { messages, tools: [weather] }, run)
      expect(textOf(answer)).to.match(/snow/i)
      expect(answer.some((part) => part.type === 'usage' && (part.usage.inputTokens ?? 0) > 0)).to.equal(true)
    })
  }
})
