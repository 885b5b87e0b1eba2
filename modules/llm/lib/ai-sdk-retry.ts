import { setTimeout } from 'node:timers/promises'
import type { LanguageModelV3StreamPart, LanguageModelV3StreamResult } from '@ai-sdk/provider'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 30_000

/** What a failed request of the AI SDK tells (its APICallError), as far as it is read here. */
interface CallError {
  readonly message: string
  readonly statusCode?: number
  readonly isRetryable?: boolean
  readonly responseHeaders?: Readonly<Record<string, string>>
  readonly responseBody?: string
}

/**
 * Opens a stream; a request that failed for a passing reason is repeated, after the time that the server asks for or one
 * that doubles. A stream that was opened is not: its first words may have been passed on.
 */
export async function openWithRetries(
  open: () => PromiseLike<LanguageModelV3StreamResult>,
  maxRetries: number,
  subject: string,
  signal: AbortSignal,
): Promise<ReadableStream<LanguageModelV3StreamPart>> {
  for (let attempt = 0; ; attempt++) {
    try {
      return (await open()).stream
    } catch (error) {
      signal.throwIfAborted()
      const failure = error as CallError
      if (!failure.isRetryable || attempt >= maxRetries) throw explain(failure, subject)
      await setTimeout(waitMs(failure, attempt), undefined, { signal })
    }
  }
}

function waitMs({ responseHeaders }: CallError, attempt: number): number {
  const asked = Number(responseHeaders?.['retry-after-ms']) || Number(responseHeaders?.['retry-after']) * 1000
  return Math.min(asked >= 0 ? asked : FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS)
}

function explain(failure: CallError, subject: string): Error {
  const status = failure.statusCode === undefined ? '' : ` (status ${failure.statusCode})`
  const said = failure.message || failure.responseBody?.slice(0, 500) || 'no reason given'
  return new Error(`${subject} did not answer${status}: ${said}`, { cause: failure })
}
