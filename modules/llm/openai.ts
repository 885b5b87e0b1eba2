import { defineModule, LLM, Type } from 'agent-host'
import { ChatEndpoint } from './lib/chat-endpoint.ts'
import { isStrictSchema } from './lib/strict-schema.ts'
import { accessSettings, effortOf, firstOf, makeVendorLLM, optionalText, vendorSettings } from './lib/vendor.ts'
import { vendorFetch } from './lib/vendor-fetch.ts'

const ADDRESS = 'https://api.openai.com/v1'
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

export default defineModule({
  name: 'OpenAILLM',
  description: "OpenAI's models, through its responses or chat completions API.",
  provides: [LLM],
  scope: 'agent',
  attachments: ['image/*', 'application/pdf'],
  reasons: true,
  config: Type.Object({
    ...accessSettings({
      example: 'gpt-4.1-mini',
      key: 'OPENAI_API_KEY',
      address: `OPENAI_BASE_URL, then ${ADDRESS}`,
    }),
    api: Type.Union([Type.Literal('responses'), Type.Literal('chat')], {
      default: 'responses',
      description: 'API to use.',
    }),
    reasoning_effort: effortOf(EFFORTS),
    reasoning_summary: Type.Optional(
      Type.String({
        variant: true,
        description: 'Summary of the reasoning: auto, concise or detailed. Responses API only.',
      }),
    ),
    store: Type.Boolean({ default: false, description: 'Let OpenAI store requests and answers.' }),
    organization: optionalText('Organization to bill.'),
    project: optionalText('Project to bill.'),
    ...vendorSettings,
  }),
  create: async (_, config, context) => {
    // Loaded here: it takes a while, and most agents never need it.
    const { createOpenAI } = await import('@ai-sdk/openai')
    const { model, api, reasoning_summary, store, organization, project, headers } = config
    const { environment } = context
    const apiKey = firstOf(config.api_key, environment.OPENAI_API_KEY) ?? ''
    const baseURL = firstOf(config.base_url, environment.OPENAI_BASE_URL) ?? ADDRESS
    const endpoint = api === 'chat' ? new ChatEndpoint(baseURL, false) : undefined
    const openai = createOpenAI({
      apiKey,
      baseURL,
      headers,
      fetch: endpoint?.fetch ?? vendorFetch,
      ...(organization ? { organization } : {}),
      ...(project ? { project } : {}),
    })
    return makeVendorLLM(
      {
        name: 'openai',
        model: openai[api](model),
        address: baseURL,
        secrets: [apiKey],
        access: { names: 'OPENAI_API_KEY', isThere: apiKey !== '' },
        optionsFor: (request) => ({
          store,
          reasoningEffort: request.reasoningEffort,
          parallelToolCalls: request.parallelToolCalls,
          textVerbosity: request.verbosity,
          serviceTier: request.serviceTier,
          promptCacheKey: request.promptCacheKey,
          safetyIdentifier: request.safetyIdentifier,
          reasoningSummary: api === 'responses' ? reasoning_summary : undefined,
          strictJsonSchema: isStrictSchema(request.responseSchema),
        }),
        // By default the responses API makes every tool strict, and optional arguments null.
        quirks: {
          hasStrictTools: true,
          optionsOfPicture: (imageDetail) => ({ openai: { imageDetail } }),
          ...(api === 'responses'
            ? { toolFiles: /^(image\/|application\/pdf$)/, larkTool: 'openai.custom' as const, phasesOf: 'openai' }
            : { endpoint }),
          efforts: [...EFFORTS, 'max'],
          options: {
            verbosity: ['low', 'medium', 'high'],
            serviceTier: ['auto', 'default', 'flex', 'priority', 'fast', 'ultrafast'],
            promptCacheKey: true,
            safetyIdentifier: true,
          },
        },
      },
      config,
      context,
    )
  },
})
