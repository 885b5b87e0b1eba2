import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider'
import {
  causesOf,
  fieldsOf,
  HostError,
  type LLM,
  type LLMPart,
  type LLMRequest,
  type Log,
  type Message,
  ModelLimited,
  type ModelOptions,
  type Run,
} from 'agent-host'
import { textToolsOf, toCallOptions, type VendorOption, type VendorQuirks, withoutUndefined } from './ai-sdk-convert.ts'
import { describeFailure, limitOf, openWithRetries, originOf, reasonOf } from './ai-sdk-retry.ts'
import { type IdleLimits, IdleTimeout } from './idle-timeout.ts'
import { providerName } from './provider-name.ts'
import { toRefusal } from './refusal.ts'
import { refusedOptions } from './refused-options.ts'
import { type FittedTools, fitRefusedTools, fitTools, keepFitted } from './refused-tools.ts'
import { StreamedAnswer } from './streamed-answer.ts'

/** A model of the AI SDK (its specification, version 3), and how to call it. */
export interface AskedModel {
  readonly model: LanguageModelV3
  /** As OpenTelemetry names it. Default: by the name that the AI SDK gives it. */
  readonly provider?: string
  /** Name in error messages, within a sentence. */
  readonly subject: string
  /** Secrets to keep out of every message. */
  readonly secrets: readonly string[]
  /** Options that the config sets: below those of a request, above those that the client of the run sent. */
  readonly defaults: { readonly [K in keyof ModelOptions]: ModelOptions[K] | undefined }
  readonly maxRetries: number
  readonly limits: IdleLimits
  readonly quirks?: VendorQuirks
  /** The vendor's own options of one request. */
  readonly optionsFor?: (request: LLMRequest) => SharedV3ProviderOptions
  /** Advice for an answer of this status. */
  readonly hints?: Readonly<Record<number, string>>
  /** Error of every request: the missing setting, and how to set it. */
  readonly missing?: string | undefined
  readonly log?: Log
}

/** The one way in which every vendor's model becomes an `LLM`. */
export function makeLLM(asked: AskedModel): LLM {
  const { model, subject, defaults, limits, quirks = {}, missing } = asked
  const tell = tellOnce(subject, asked.log)
  const fail = makeFail(asked.secrets)
  const open = makeOpen(asked, tell, fail)
  return {
    modelInfo: { name: model.modelId, provider: asked.provider ?? providerName(model.provider) },
    async *generate(request, run) {
      run.signal.throwIfAborted()
      if (missing !== undefined) throw new Error(missing)
      const silence = new IdleTimeout(limits, run.signal)
      try {
        const set = withoutUndefined(defaults)
        const ofClient = clientOptions(request, run)
        const { responseSchema, ...own } = withoutKeys(request, Object.keys(ofClient))
        const dispensable = { ...withoutKeys(ofClient, Object.keys(set)), ...withoutUndefined({ responseSchema }) }
        const stream = await open({ ...set, ...own }, dispensable, silence)
        const textTools = textToolsOf(request.tools, quirks)
        const warn = (part: LanguageModelV3StreamPart) => warnOf(part, quirks).forEach(tell)
        yield* convert(stream, { silence, warn, quirks, textTools, model: model.modelId })
      } catch (error) {
        run.signal.throwIfAborted()
        if (error instanceof HostError) throw error
        const origin = originOf(error)
        const { spent } = silence
        const message = spent ? describeLimit(spent, limits, subject) : describeFailure(origin, subject)
        throw fail(message, origin, spent ? undefined : request.messages)
      } finally {
        silence.end()
      }
    },
  }
}

/** Opens requests as the model takes them: without tools that it rejects, and options, unless the agent's config sets them. */
function makeOpen(asked: AskedModel, tell: (warning: string) => void, fail: ReturnType<typeof makeFail>) {
  const { model, maxRetries, hints, quirks = {} } = asked
  let knownTools: FittedTools = new Map()
  return async (
    request: LLMRequest,
    dispensable: Partial<LLMRequest>,
    silence: IdleTimeout,
  ): Promise<ReadableStream<LanguageModelV3StreamPart>> => {
    const supportedUrls = await model.supportedUrls
    let left = withKnownWords(dispensable, quirks, tell)
    let tools = knownTools
    for (;;) {
      const settled = fitTools({ ...left, ...request }, tools)
      const options = toOptions(settled, asked, supportedUrls, silence.signal)
      const ask = () => silence.limit(model.doStream(options))
      try {
        const stream = await openWithRetries(ask, maxRetries, silence.signal, hints)
        if (tools.size > knownTools.size) knownTools = keepFitted(knownTools, tools)
        return stream
      } catch (error) {
        const cause = error instanceof Error ? error.cause : undefined
        const fitted = fitRefusedTools(cause, request, tools)
        const refused = fitted ? [] : refusedOptions(cause, left)
        if (silence.signal.aborted || (!fitted && refused.length === 0)) throw error
        const notices = fitted?.notices ?? [`it refuses ${refused.join(' and ')}, which is left out`]
        for (const notice of notices) tell(`${notice}: ${fail(reasonOf(error), error).message}`)
        left = withoutKeys(left, refused)
        tools = fitted?.fitted ?? tools
      }
    }
  }
}

function toOptions(
  request: LLMRequest,
  { quirks = {}, optionsFor }: AskedModel,
  supportedUrls: Awaited<LanguageModelV3['supportedUrls']>,
  abortSignal: AbortSignal,
): LanguageModelV3CallOptions {
  const providerOptions = optionsFor?.(request)
  const options = toCallOptions(request, { ...quirks, supportedUrls })
  quirks.endpoint?.prepare(abortSignal, request.messages)
  return { ...options, ...(providerOptions ? { providerOptions } : {}), abortSignal }
}

/** Options without those whose words the model does not know. */
function withKnownWords(
  options: Partial<LLMRequest>,
  { efforts, options: ofVendor }: VendorQuirks,
  tell: (warning: string) => void,
): Partial<LLMRequest> {
  const words: { readonly [Name in VendorOption | 'reasoningEffort']?: readonly string[] | true } = {
    reasoningEffort: efforts ?? true,
    ...ofVendor,
  }
  const unknown = WORDED_OPTIONS.filter(([name, word]) => {
    const value = options[name]
    const known = words[name]
    if (value === undefined || known === true || known?.includes(value)) return false
    tell(`it ${known ? `knows no ${word} '${value.slice(0, 100)}'` : `takes no ${word}`}, which is left out`)
    return true
  })
  const names = unknown.map(([name]) => name)
  return names.length === 0 ? options : withoutKeys(options, names)
}

const WORDED_OPTIONS = [
  ['reasoningEffort', 'reasoning effort'],
  ['verbosity', 'verbosity'],
  ['serviceTier', 'service tier'],
  ['promptCacheKey', 'key for its cache'],
  ['safetyIdentifier', 'safety identifier'],
] as const satisfies readonly (readonly [VendorOption | 'reasoningEffort', string])[]

/** Options of the request that come from the run's client. Tool choice and schema are the orchestrator's, which passes them on. */
function clientOptions(request: LLMRequest, { requestOptions }: Run): ModelOptions {
  const { toolChoice: _choice, responseSchema: _schema, ...options } = requestOptions
  return Object.fromEntries(
    Object.entries(options).filter(([name, value]) => request[name as keyof typeof options] === value),
  )
}

function withoutKeys<T extends object>(options: T, names: readonly string[]): T {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !names.includes(name))) as T
}

interface Listening {
  readonly silence: IdleTimeout
  readonly warn: (part: LanguageModelV3StreamPart) => void
  readonly quirks: VendorQuirks
  readonly textTools: ReadonlySet<string>
  readonly model: string
}

async function* convert(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  { silence, warn, quirks, textTools, model }: Listening,
): AsyncGenerator<LLMPart> {
  const answer = new StreamedAnswer(quirks, textTools, model, quirks.endpoint?.fieldsOf(silence.signal))
  silence.begin()
  for await (const part of stream) {
    warn(part)
    if (saysNothing(part) || newKindOf(part, quirks) !== undefined) continue
    // The time that the reader of the answer takes is not the model's.
    silence.end()
    yield* answer.take(part)
    silence.begin()
  }
  if (!answer.isWhole) throw new Error('The answer ended in the middle.')
}

/** Some vendors keep a connection alive with pieces that are empty. */
function saysNothing(part: LanguageModelV3StreamPart): boolean {
  return part.type === 'stream-start' || ('delta' in part && part.delta === '' && !part.providerMetadata)
}

function describeLimit(spent: keyof IdleLimits, limits: IdleLimits, subject: string): string {
  const what = spent === 'timeout' ? 'said nothing' : 'gave signs of life, but sent no part of its answer,'
  return `${capital(subject)} ${what} for ${limits[spent]} s (${spent}).`
}

/** Kind of a part that the SDK refuses because it is newer than the SDK. */
function newKindOf(part: LanguageModelV3StreamPart, { newKindOf }: VendorQuirks): string | undefined {
  return part.type === 'error' ? newKindOf?.(fieldsOf(part.error).value) : undefined
}

/** Warnings of the SDK about unsupported settings, and what only newer versions know. */
function warnOf(part: LanguageModelV3StreamPart, quirks: VendorQuirks): string[] {
  const kind = newKindOf(part, quirks)
  if (kind !== undefined) return [`it sent '${kind}', which is not known here and is left out`]
  if (part.type === 'finish' && part.finishReason.unified === 'other' && part.finishReason.raw !== undefined)
    return [`it ended an answer for a reason that is not known here: ${part.finishReason.raw}`]
  if (part.type !== 'stream-start') return []
  return part.warnings.map((warning) =>
    warning.type === 'other' ? warning.message : `${warning.feature}: ${warning.details ?? 'not supported'}`,
  )
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Warnings that are remembered: clients and vendors may put anything into them. */
const MAX_KNOWN = 100

/** Logs a warning once, not with every request. */
function tellOnce(subject: string, log: Log | undefined): (warning: string) => void {
  const known = new Set<string>()
  return (warning) => {
    if (known.has(warning)) return
    log?.warn(`${capital(subject)}: ${warning}`)
    for (const oldest of known) if (known.size >= MAX_KNOWN) known.delete(oldest)
    known.add(warning)
  }
}

/** Errors without secrets, even in the address: some servers echo a rejected key, or half of it. */
function makeFail(rawSecrets: readonly string[]) {
  const secrets = rawSecrets.filter((secret) => secret.length >= 8)
  const hide = (text: string) =>
    secrets.reduce(
      (shown, secret) => shown.replaceAll(secret, '[redacted]'),
      text.replace(/:\/\/[^/@\s]+@/g, '://').replace(/(?<![\w-])[\w-]{1,4096}\*{3,}\w*/g, '[redacted]'),
    )
  return (message: string, cause: unknown, messages?: readonly Message[]): Error => {
    const limit = limitOf(cause)
    const refusal = messages && toRefusal(hide(message), cause, messages)
    for (const error of causesOf(cause)) if (error instanceof Error) hideIn(error, hide)
    if (refusal) return refusal
    return limit ? new ModelLimited(hide(message), { ...limit, cause }) : new Error(hide(message), { cause })
  }
}

/** The log and traces tell the messages of causes, too. */
function hideIn(error: Error, hide: (text: string) => string): void {
  for (const name of ['message', 'stack'] as const) {
    const text = error[name]
    // A DOMException has getters for them on its prototype: there is no property to change.
    if (text !== undefined && Object.hasOwn(error, name)) error[name] = hide(text)
  }
}
