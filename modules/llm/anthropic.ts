import type { LanguageModelV3 } from '@ai-sdk/provider'
import { defineModule, fieldsOf, LLM, Type } from 'agent-host'
import { mendBlockEvents } from './lib/block-events.ts'
import { countFetch } from './lib/count-fetch.ts'
import { loadPackage } from './lib/optional-package.ts'
import { accessSettings, effortOf, firstOf, makeVendorLLM, thinkingBudget, vendorSettings } from './lib/vendor.ts'
import { makeFetch } from './lib/vendor-fetch.ts'

/** Used part of `@ai-sdk/anthropic`, which need not be installed. */
interface AnthropicPackage {
  createAnthropic(settings: {
    apiKey: string
    baseURL: string
    headers: Record<string, string>
    fetch: typeof fetch
  }): (model: string) => LanguageModelV3
}

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max']

export default defineModule({
  name: 'AnthropicLLM',
  description: "Anthropic's models, through its messages API.",
  provides: [LLM],
  scope: 'agent',
  attachments: ['image/*', 'application/pdf', 'text/plain'],
  reasons: true,
  config: Type.Object({
    ...accessSettings({
      example: 'claude-haiku-4-5',
      key: 'ANTHROPIC_API_KEY',
      address: 'ANTHROPIC_BASE_URL, then https://api.anthropic.com/v1',
    }),
    reasoning_effort: effortOf(EFFORTS),
    thinking_budget: thinkingBudget,
    ...vendorSettings,
  }),
  create: async (_, config, context) => {
    const { environment, projectDir } = context
    const { createAnthropic } = await loadPackage<AnthropicPackage>('@ai-sdk/anthropic', 'llm/anthropic', projectDir)
    const { model, headers, thinking_budget = 0 } = config
    const apiKey = firstOf(config.api_key, environment.ANTHROPIC_API_KEY) ?? ''
    const baseURL = withVersion(firstOf(config.base_url, environment.ANTHROPIC_BASE_URL) ?? 'https://api.anthropic.com')
    const make = (send: typeof fetch) =>
      makeVendorLLM(
        {
          name: 'anthropic',
          model: createAnthropic({ apiKey, baseURL, headers, fetch: send })(model),
          address: baseURL,
          secrets: [apiKey],
          access: { names: 'ANTHROPIC_API_KEY', isThere: apiKey !== '' },
          optionsFor: ({ reasoningEffort, parallelToolCalls }) => ({
            // Calls are passed on whole: streaming them gains nothing, and may yield arguments that are not JSON.
            toolStreaming: false,
            effort: reasoningEffort,
            disableParallelToolUse: parallelToolCalls === undefined ? undefined : !parallelToolCalls,
            thinking: thinking_budget > 0 ? { type: 'enabled', budgetTokens: thinking_budget } : undefined,
          }),
          quirks: {
            systemFirst: true,
            refusesBlank: true,
            newKindOf,
            toolFiles: /^(image\/|application\/pdf$)/,
            efforts: EFFORTS,
          },
        },
        config,
        context,
      )
    let counting: LLM | undefined
    return {
      ...make(makeFetch(mendBlockEvents)),
      async countTokens(request, run) {
        counting ??= make(countFetch)
        let count = 0
        for await (const part of counting.generate(request, run))
          if (part.type === 'usage') count += part.usage.inputTokens ?? 0
        return count
      },
    }
  },
})

/** Anthropic's own tools take ANTHROPIC_BASE_URL without the version. */
function withVersion(address: string): string {
  const trimmed = address.replace(/\/+$/, '')
  return new URL(trimmed).pathname === '/' ? `${trimmed}/v1` : trimmed
}

const KINDS: ReadonlySet<unknown> = new Set([
  ...['message_start', 'message_delta', 'message_stop', 'ping', 'error', undefined],
  ...['content_block_start', 'content_block_delta', 'content_block_stop'],
  ...['text', 'thinking', 'redacted_thinking', 'tool_use'],
  ...['text_delta', 'thinking_delta', 'signature_delta', 'input_json_delta', 'citations_delta'],
])

/** New kinds of events and blocks are to be expected (docs.anthropic.com/en/api/versioning). */
function newKindOf(event: unknown): string | undefined {
  const { type, content_block, delta } = fieldsOf(event)
  const kinds = [type, fieldsOf(content_block).type, fieldsOf(delta).type]
  const kind = kinds.find((each) => !KINDS.has(each))
  return kind === undefined ? undefined : String(kind)
}
