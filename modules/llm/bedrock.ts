import type { LanguageModelV3 } from '@ai-sdk/provider'
import { defineModule, LLM, Type } from 'agent-host'
import { loadPackage } from './lib/optional-package.ts'
import {
  effortOf,
  firstOf,
  makeVendorLLM,
  modelName,
  optionalText,
  thinkingBudget,
  vendorSettings,
} from './lib/vendor.ts'
import { vendorFetch } from './lib/vendor-fetch.ts'

/** Used part of `@ai-sdk/amazon-bedrock`, which need not be installed. */
interface BedrockPackage {
  createAmazonBedrock(settings: {
    region: string
    baseURL: string
    headers: Record<string, string>
    fetch: typeof fetch
    apiKey: string
    accessKeyId?: string
    secretAccessKey?: string
    sessionToken?: string
  }): (model: string) => LanguageModelV3
}

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max']

export default defineModule({
  name: 'BedrockLLM',
  description: 'Models on Amazon Bedrock, through its converse API.',
  provides: [LLM],
  scope: 'agent',
  attachments: ['image/*', 'application/pdf', 'text/plain', 'text/csv', 'text/html', 'text/markdown'],
  reasons: true,
  config: Type.Object({
    model: modelName('Model or inference profile, such as us.anthropic.claude-haiku-4-5-20251001-v1:0.'),
    region: optionalText('Default: AWS_REGION or AWS_DEFAULT_REGION of the environment, then us-east-1.'),
    api_key: optionalText('Bedrock API key. Default: AWS_BEARER_TOKEN_BEDROCK.'),
    access_key_id: optionalText('Without an API key. Default: AWS_ACCESS_KEY_ID.'),
    secret_access_key: optionalText('Default: AWS_SECRET_ACCESS_KEY.'),
    session_token: optionalText('Default: AWS_SESSION_TOKEN.'),
    base_url: optionalText('Address of the API. Default: https://bedrock-runtime.<region>.amazonaws.com'),
    reasoning_effort: effortOf(EFFORTS),
    thinking_budget: thinkingBudget,
    ...vendorSettings,
  }),
  create: async (_, config, context) => {
    const { environment: env, projectDir } = context
    const { createAmazonBedrock } = await loadPackage<BedrockPackage>(
      '@ai-sdk/amazon-bedrock',
      'llm/bedrock',
      projectDir,
    )
    const { model, headers, thinking_budget = 0 } = config
    const region = firstOf(config.region, env.AWS_REGION, env.AWS_DEFAULT_REGION) ?? 'us-east-1'
    const baseURL = firstOf(config.base_url) ?? `https://bedrock-runtime.${region}.amazonaws.com`
    const accessKeyId = firstOf(config.access_key_id, env.AWS_ACCESS_KEY_ID)
    const secretAccessKey = firstOf(config.secret_access_key, env.AWS_SECRET_ACCESS_KEY)
    // The config takes precedence over the environment, and is not mixed with it.
    const isOwn = firstOf(config.access_key_id) !== undefined
    const sessionToken = firstOf(config.session_token, isOwn ? undefined : env.AWS_SESSION_TOKEN)
    const apiKey = firstOf(config.api_key, isOwn ? undefined : env.AWS_BEARER_TOKEN_BEDROCK) ?? ''
    const bedrock = createAmazonBedrock({
      region,
      baseURL,
      headers,
      fetch: vendorFetch,
      // Empty instead of missing: otherwise the SDK would read the environment of the process.
      apiKey,
      ...(accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : {}),
      ...(sessionToken ? { sessionToken } : {}),
    })
    return makeVendorLLM(
      {
        name: 'bedrock',
        model: bedrock(model),
        address: baseURL,
        secrets: [apiKey, secretAccessKey ?? '', sessionToken ?? ''],
        access: {
          names: 'AWS_BEARER_TOKEN_BEDROCK (or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)',
          isThere: apiKey !== '' || (accessKeyId !== undefined && secretAccessKey !== undefined),
        },
        optionsFor: ({ reasoningEffort }) => ({
          reasoningConfig:
            reasoningEffort || thinking_budget > 0
              ? {
                  ...(thinking_budget > 0 ? { type: 'enabled', budgetTokens: thinking_budget } : {}),
                  ...(reasoningEffort ? { maxReasoningEffort: reasoningEffort } : {}),
                }
              : undefined,
        }),
        quirks: {
          systemFirst: true,
          refusesBlank: true,
          toolFiles: /^image\/|^application\/pdf$/,
          efforts: EFFORTS,
        },
      },
      config,
      context,
    )
  },
})
