import type { JSONObject, LanguageModelV3, SharedV3ProviderOptions } from '@ai-sdk/provider'
import { type LLM, type LLMRequest, type ModuleContext, type Static, Type } from 'agent-host'
import { type VendorQuirks, withoutUndefined } from './ai-sdk-convert.ts'
import { makeLLM } from './ai-sdk-llm.ts'
import { type IdleLimits, LONGEST_TIMER } from './idle-timeout.ts'

const requestSettings = {
  headers: Type.Record(Type.String(), Type.String(), {
    default: {},
    description: 'Additional headers of every request.',
  }),
  temperature: Type.Optional(
    Type.Number({ minimum: 0, maximum: 2, variant: true, description: 'Randomness of the answers.' }),
  ),
  max_retries: Type.Integer({
    minimum: 0,
    maximum: 10,
    default: 2,
    description: 'Retries after a temporary failure (408, 409, 429, 5xx, no connection).',
  }),
  timeout: Type.Number({
    minimum: 1,
    maximum: LONGEST_TIMER,
    default: 60,
    description: 'Seconds without a byte from the vendor after which a call fails.',
  }),
  part_timeout: Type.Optional(
    Type.Number({
      minimum: 1,
      maximum: LONGEST_TIMER,
      description:
        'Seconds without a part of the answer after which a call fails, even if the vendor gives signs of life. Default: 600, or `timeout` if that is longer.',
    }),
  ),
}

const settings = {
  ...requestSettings,
  max_output_tokens: Type.Optional(
    Type.Integer({ minimum: 1, variant: true, description: 'Maximum tokens of an answer.' }),
  ),
  options: Type.Record(Type.String(), Type.Unknown(), {
    default: {},
    description: "Additional options of the vendor, named as in the AI SDK's package.",
  }),
}

/** Config fields of every module that requests a model over HTTP. */
export const httpSettings: typeof requestSettings = requestSettings

/** Config fields of every vendor's module, beside `model` and the access. */
export const vendorSettings: typeof settings = settings

/** The fields that say which model it is, and how it is reached. */
export function accessSettings({ example, key, address }: { example: string; key: string; address: string }) {
  return {
    model: modelName(`Name of the model, such as ${example}.`),
    api_key: optionalText(`Default: ${key} of the environment.`),
    base_url: optionalText(`Address of the API. Default: ${address}`),
  }
}

/** `model` of a module that calls models by name. */
export function modelName(description: string) {
  return Type.String({ minLength: 1, variant: true, description })
}

/** A text that may be left out. */
export function optionalText(description: string) {
  return Type.Optional(Type.String({ description }))
}

/** `reasoning_effort` of a vendor that knows these levels. */
export function effortOf<Level extends string>(levels: readonly Level[]) {
  return Type.Optional(Type.Enum(levels, { variant: true, description: 'Effort that the model puts into reasoning.' }))
}

export const thinkingBudget = Type.Optional(
  Type.Integer({ minimum: 0, variant: true, description: 'Maximum thinking tokens before the answer.' }),
)

/** The config of a vendor's module, as far as all have it. */
type VendorConfig = { model: string; reasoning_effort?: string } & Static<
  ReturnType<typeof Type.Object<typeof settings>>
>

/** Access to the models of one vendor. */
export interface Vendor {
  /** Name of the vendor's module, `llm/<name>`, and of the vendor among the options of the AI SDK. */
  readonly name: string
  readonly model: LanguageModelV3
  /** Address of the requests, for errors. */
  readonly address: string
  readonly secrets: readonly string[]
  /** Names of the settings that hold the key, and whether one of them is set. */
  readonly access: { readonly names: string; readonly isThere: boolean }
  readonly optionsFor: (request: LLMRequest) => Readonly<Record<string, unknown>>
  readonly quirks?: VendorQuirks
  /** Advice for an answer of this status. */
  readonly hints?: Readonly<Record<number, string>>
}

/** The `LLM` of a vendor's module. Without a key it can be created, so that an agent can be checked, but refuses to answer. */
export function makeVendorLLM(vendor: Vendor, config: VendorConfig, { log, moduleId }: ModuleContext): LLM {
  const { name, model, address, secrets, access, optionsFor, quirks, hints } = vendor
  const module = `llm/${name}`
  const where = `${access.names} in .env or the environment, or api_key in the config of module '${moduleId}'`
  const missing = access.isThere ? undefined : `${module} has no key. Set ${where}.`
  if (missing !== undefined) log.warn(missing)
  return makeLLM({
    model,
    subject: `the model '${config.model}' of ${module} at ${address}`,
    secrets: [...secrets, ...Object.values(config.headers)],
    defaults: {
      temperature: config.temperature,
      maxOutputTokens: config.max_output_tokens,
      reasoningEffort: config.reasoning_effort,
    },
    maxRetries: config.max_retries,
    limits: limitsOf(config),
    quirks: { alwaysFinishes: true, vendor: name, ...quirks },
    optionsFor: (request) => toProviderOptions(name, { ...optionsFor(request), ...config.options }),
    hints: { 401: `The key comes from ${where}.`, ...hints },
    missing,
    log,
  })
}

/** The limits of a config. Hidden reasoning may take minutes. */
export function limitsOf({
  timeout,
  part_timeout = Math.max(600, timeout),
}: {
  timeout: number
  part_timeout?: number
}): IdleLimits {
  return { timeout, part_timeout }
}

/** Options under the SDK's names, without `undefined` values, which the SDK would validate. */
export function toProviderOptions(name: string, options: Readonly<Record<string, unknown>>): SharedV3ProviderOptions {
  return { [name]: withoutUndefined(options) as JSONObject }
}

/** The first of these that says something: an empty text, as `${MY_KEY:-}` may be, says nothing. */
export function firstOf(...values: readonly (string | undefined)[]): string | undefined {
  return values.find((value) => value !== undefined && value.trim() !== '')?.trim()
}
