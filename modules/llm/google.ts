import type { LanguageModelV3 } from '@ai-sdk/provider'
import { defineModule, LLM, Type } from 'agent-host'
import { loadPackage } from './lib/optional-package.ts'
import { accessSettings, effortOf, firstOf, makeVendorLLM, thinkingBudget, vendorSettings } from './lib/vendor.ts'
import { vendorFetch } from './lib/vendor-fetch.ts'

/** Used part of `@ai-sdk/google`, which need not be installed. */
interface GooglePackage {
  createGoogleGenerativeAI(settings: {
    apiKey: string
    baseURL: string
    headers: Record<string, string>
    fetch: typeof fetch
  }): (model: string) => LanguageModelV3
}

const ADDRESS = 'https://generativelanguage.googleapis.com/v1beta'
const EFFORTS = ['minimal', 'low', 'medium', 'high']

export default defineModule({
  name: 'GoogleLLM',
  description: "Google's Gemini models, through the Gemini API.",
  provides: [LLM],
  scope: 'agent',
  attachments: ['image/*', 'audio/*', 'video/*', 'application/pdf', 'text/plain'],
  reasons: true,
  config: Type.Object({
    ...accessSettings({
      example: 'gemini-2.5-flash',
      key: 'GEMINI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY',
      address: ADDRESS,
    }),
    reasoning_effort: effortOf(EFFORTS),
    thinking_budget: thinkingBudget,
    ...vendorSettings,
  }),
  create: async (_, config, context) => {
    const { environment, projectDir } = context
    const { createGoogleGenerativeAI } = await loadPackage<GooglePackage>('@ai-sdk/google', 'llm/google', projectDir)
    const { model, headers, thinking_budget } = config
    const { GEMINI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY } = environment
    const apiKey = firstOf(config.api_key, GEMINI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY) ?? ''
    const baseURL = firstOf(config.base_url) ?? ADDRESS
    return makeVendorLLM(
      {
        name: 'google',
        model: createGoogleGenerativeAI({ apiKey, baseURL, headers, fetch: vendorFetch })(model),
        address: baseURL,
        secrets: [apiKey],
        access: { names: 'GEMINI_API_KEY', isThere: apiKey !== '' },
        optionsFor: ({ reasoningEffort }) => ({ thinkingConfig: thinkingOf(reasoningEffort, thinking_budget) }),
        quirks: {
          systemFirst: true,
          refusesBlank: true,
          toolFiles: /^(image|audio|video)\/|^application\/pdf$/,
          efforts: EFFORTS,
        },
      },
      config,
      context,
    )
  },
})

function thinkingOf(thinkingLevel: string | undefined, thinkingBudget: number | undefined) {
  const includeThoughts = thinkingLevel !== undefined || (thinkingBudget ?? 0) > 0
  return includeThoughts || thinkingBudget === 0 ? { thinkingLevel, thinkingBudget, includeThoughts } : undefined
}
