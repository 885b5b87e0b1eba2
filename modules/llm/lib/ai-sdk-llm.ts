import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider'
import type { LLM, LLMPart, LLMRequest, Log } from 'agent-host'
import { fromStreamPart, toCallOptions, type VendorQuirks } from './ai-sdk-convert.ts'
import { openWithRetries, reasonOf } from './ai-sdk-retry.ts'
import { type RunThoughts, Thoughts } from './ai-sdk-thoughts.ts'
import { IdleTimeout } from './idle-timeout.ts'

/** A model of the AI SDK (its specification, version 3), and how it is asked. */
export interface AskedModel {
  readonly model: LanguageModelV3
  /** What errors call it. */
  readonly subject: string
  /** Never told, whatever the server says. */
  readonly secrets: readonly string[]
  /** Of every request; what a request says goes first. */
  readonly defaults: Partial<LanguageModelV3CallOptions>
  readonly maxRetries: number
  /** Seconds without a word after which it is given up. */
  readonly timeout: number
  readonly habits?: VendorQuirks
  /** The vendor's own options of one request. */
  readonly optionsFor?: (request: LLMRequest) => SharedV3ProviderOptions
  /** Said beside an answer of this status: what can be done. */
  readonly hints?: Readonly<Record<number, string>>
  /** Thrown by every request: what is missing, and how to set it. */
  readonly missing?: string | undefined
  readonly log?: Log
}

/** The one way in which every vendor's model becomes an `LLM`. */
export function makeLLM(asked: AskedModel): LLM {
  const { model, subject, defaults, maxRetries, timeout, habits = {}, optionsFor, hints, missing, log } = asked
  const thoughts = new Thoughts()
  const warn = warnOnce(subject, log)
  const fail = makeFail(asked.secrets)
  return {
    async *generate(request, run) {
      run.signal.throwIfAborted()
      if (missing !== undefined) throw new Error(missing)
      const silence = new IdleTimeout(timeout, run.signal)
      const seen = thoughts.of(run)
      try {
        const supportedUrls = await model.supportedUrls
        const options = {
          ...defaults,
          ...toCallOptions(request, { ...habits, supportedUrls }, seen),
          ...(optionsFor ? { providerOptions: optionsFor(request) } : {}),
          abortSignal: silence.signal,
        }
        const open = () => silence.limit(model.doStream(options))
        yield* convert(await openWithRetries(open, maxRetries, silence.signal, hints), {
          silence,
          seen,
          warn,
          habits,
          model: model.modelId,
        })
      } catch (error) {
        run.signal.throwIfAborted()
        throw fail(
          silence.isTooLong ? `${subject} said nothing for ${timeout} seconds.` : `${subject} ${reasonOf(error)}`,
          error,
        )
      } finally {
        silence.end()
      }
    },
  }
}

interface Listening {
  readonly silence: IdleTimeout
  readonly seen: RunThoughts
  readonly warn: (part: LanguageModelV3StreamPart) => void
  readonly habits: VendorQuirks
  readonly model: string
}

async function* convert(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  { silence, seen, warn, habits, model }: Listening,
): AsyncGenerator<LLMPart> {
  const remember = seen.listen()
  let isWhole = false
  silence.begin()
  for await (const part of stream) {
    // The time that the reader of the answer takes is not the model's.
    silence.end()
    warn(part)
    remember(part)
    isWhole = part.type === 'finish' && !(habits.alwaysFinishes && hasNoReason(part))
    if (part.type !== 'finish' || isWhole) for (const own of fromStreamPart(part)) yield nameModel(own, model)
    silence.begin()
  }
  if (!isWhole) throw new Error('the answer ended in the middle.')
}

/** Usage is counted by model. */
function nameModel(part: LLMPart, model: string): LLMPart {
  return part.type === 'usage' ? { ...part, model } : part
}

/** So does the SDK finish a stream that the vendor did not. */
function hasNoReason({ finishReason }: Extract<LanguageModelV3StreamPart, { type: 'finish' }>): boolean {
  return finishReason.unified === 'other' && finishReason.raw === undefined
}

/** What a model does not support is told once, not with every request. */
function warnOnce(subject: string, log: Log | undefined): (part: LanguageModelV3StreamPart) => void {
  const told = new Set<string>()
  return (part) => {
    if (part.type !== 'stream-start') return
    for (const warning of part.warnings) {
      const text =
        warning.type === 'other' ? warning.message : `${warning.feature}: ${warning.details ?? 'not supported'}`
      if (!told.has(text)) log?.warn(`${subject}: ${text}`)
      told.add(text)
    }
  }
}

/** Errors without what is secret, in the address too: some servers repeat the key that they refuse, or half of it. */
function makeFail(rawSecrets: readonly string[]): (message: string, cause: unknown) => Error {
  const secrets = rawSecrets.filter((secret) => secret.length >= 8)
  return (message, cause) =>
    new Error(
      secrets.reduce(
        (text, secret) => text.replaceAll(secret, '[redacted]'),
        message.replace(/:\/\/[^/@\s]+@/g, '://').replace(/[\w-]+\*{3,}\w*/g, '[redacted]'),
      ),
      { cause },
    )
}
