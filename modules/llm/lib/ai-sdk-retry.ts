import { setTimeout } from 'node:timers/promises'
import type { LanguageModelV3StreamPart, LanguageModelV3StreamResult } from '@ai-sdk/provider'
import { fieldsOf, type ModelLimited, messageOf } from 'agent-host'
import { lacksQuota, NotTaken, refusesKey } from './refusal.ts'
import { vendorWords } from './vendor-words.ts'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 30_000

/** Failed request of the AI SDK (its APICallError), as far as it is read here. */
interface CallError {
  readonly message: string
  readonly statusCode: number | undefined
  readonly isRetryable: boolean
  readonly responseHeaders: Readonly<Record<string, string>>
  readonly responseBody: string
  /** The body, where it was of the expected shape. The message is then the server's own. */
  readonly data: unknown
}

/** A request that was not answered with a stream. */
class NotAnswered extends Error {
  readonly statusCode: number | undefined
  readonly hint: string | undefined
  /** Wait before the next request, as the server wants it; NaN if it does not say. */
  readonly retryAfterMs: number

  constructor(reason: string, { statusCode, responseHeaders }: CallError, hint: string | undefined, cause: unknown) {
    super(reason, { cause })
    this.statusCode = statusCode
    this.hint = hint
    this.retryAfterMs = askedMs(responseHeaders)
  }
}

/** An answer that arrived, and cannot be used. */
export class UnusableAnswer extends Error {}

/**
 * Opens a stream; a request that failed for a passing reason is repeated, after the time that the server asks for or one
 * that doubles. A stream that was opened is not: its first words may have been passed on.
 */
export async function openWithRetries(
  open: () => PromiseLike<LanguageModelV3StreamResult>,
  maxRetries: number,
  signal: AbortSignal,
  hints: Readonly<Record<number, string>> = {},
): Promise<ReadableStream<LanguageModelV3StreamPart>> {
  for (let attempt = 0; ; attempt++) {
    try {
      return (await open()).stream
    } catch (error) {
      signal.throwIfAborted()
      const failure = readFailure(error)
      if (!failure.isRetryable || attempt >= maxRetries || lacksQuota(error)) throw toError(failure, hints, error)
      await setTimeout(waitMs(failure, attempt), undefined, { signal })
    }
  }
}

function readFailure(error: unknown): CallError {
  const { statusCode, isRetryable, responseHeaders, responseBody, data } = fieldsOf(error)
  const { message } = fieldsOf(originOf(error))
  const headers = Object.entries(fieldsOf(responseHeaders)).map(([name, value]) => [name, String(value)])
  return {
    message: typeof message === 'string' ? message : messageOf(error),
    statusCode: typeof statusCode === 'number' ? statusCode : undefined,
    isRetryable: isRetryable === true,
    responseHeaders: Object.fromEntries(headers),
    responseBody: typeof responseBody === 'string' ? responseBody : '',
    data,
  }
}

function waitMs({ responseHeaders }: CallError, attempt: number): number {
  const asked = askedMs(responseHeaders)
  return Math.min(asked >= 0 ? asked : FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS)
}

/** Seconds or a date (RFC 9110, 10.2.3), or the milliseconds that OpenAI sends beside them; NaN when the server asks for nothing. */
function askedMs(headers: Readonly<Record<string, string>>): number {
  const after = headers['retry-after'] ?? ''
  if (headers['retry-after-ms']) return Number(headers['retry-after-ms'])
  if (/^\d+(\.\d+)?$/.test(after)) return Number(after) * 1000
  return Math.max(0, Date.parse(after) - Date.now())
}

function toError(failure: CallError, hints: Readonly<Record<number, string>>, cause: unknown): Error {
  // The answer had begun: a stream that breaks off at once.
  if (failure.statusCode === 200 && cause instanceof Error) return cause
  const body = failure.data === undefined ? failure.responseBody.trim().slice(0, 500) : ''
  const said = [failure.message, body].filter((text) => text !== '').join(': ') || 'no reason given'
  return new NotAnswered(said, failure, hints[refusesKey(cause) ? 401 : (failure.statusCode ?? 0)], cause)
}

/** The vendor's own reason. */
export function reasonOf(error: unknown): string {
  // An error mid-stream is the server's own: mostly an object with a message.
  const { name, message, value, text } = fieldsOf(error)
  // The SDK's report on a schema is pages long.
  if (name === 'AI_TypeValidationError') {
    return vendorWords(value) ?? `it sent what its API does not define: ${JSON.stringify(value).slice(0, 200)}`
  }
  if (name === 'AI_JSONParseError') return `it sent what is no JSON: ${String(text).slice(0, 200)}`
  return typeof message === 'string' && message !== '' ? message : messageOf(error)
}

/** Returns the error below those that say nothing about it. */
export function originOf(error: unknown): unknown {
  const isEmpty = error instanceof Error && error.cause !== undefined && SAYS_NOTHING.has(error.message)
  return isEmpty ? originOf(error.cause) : error
}

/** Messages of the SDK and of Node above the error that broke a connection. */
const SAYS_NOTHING = new Set([
  'Failed to process successful response',
  'Failed to process error response',
  'terminated',
])

/** Limit of the vendor that a request was refused for; undefined for any other failure. */
export function limitOf(error: unknown): Pick<ModelLimited, 'status' | 'retryAfterSeconds'> | undefined {
  if (!(error instanceof NotAnswered)) return undefined
  const { statusCode: status, retryAfterMs } = error
  if (status !== 429 && status !== 529) return undefined
  return { status, retryAfterSeconds: retryAfterMs >= 0 ? retryAfterMs / 1000 : undefined }
}

/**
 * Describes a failed request: the reason, which is the vendor's own if it gave one, and in parentheses the model and what it
 * did. A stream that broke off says so first: the reason of a connection, such as `other side closed`, says nothing by itself.
 *
 * @param subject name of the model, within a sentence
 */
export function describeFailure(error: unknown, subject: string): string {
  const reason = reasonOf(error).replace(/(?<![.\s])[.\s]+$/, '')
  if (error instanceof NotTaken || error instanceof UnusableAnswer) return `${reason} (${subject})`
  if (!(error instanceof NotAnswered)) return `The stream of ${subject} broke off: ${reason}`
  const { statusCode, hint } = error
  const place = statusCode === undefined ? `${subject} did not answer` : `status ${statusCode} from ${subject}`
  return `${reason} (${place})${hint === undefined ? '' : `. ${hint}`}`
}
