import { setTimeout } from 'node:timers/promises'
import { messageOf, type Run } from 'agent-host'

export interface Endpoint {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Fields of every request beside the texts. */
  readonly body: Readonly<Record<string, unknown>>
  /** Name in error messages. */
  readonly subject: string
  /** Never part of an error: some servers repeat the key that they refuse. */
  readonly secrets: readonly string[]
  readonly maxRetries: number
  readonly timeoutSeconds: number
}

const PASSING = new Set([408, 409, 429, 500, 502, 503, 504])
const LONGEST_WAIT_MS = 30_000

/**
 * One vector a text, in their order.
 *
 * @throws Error with the model and the server's message; the run's reason if it was aborted
 */
export async function requestVectors(endpoint: Endpoint, texts: readonly string[], run: Run): Promise<Float32Array[]> {
  for (let attempt = 0; ; attempt++) {
    run.signal.throwIfAborted()
    try {
      return await attemptOnce(endpoint, texts, run)
    } catch (error) {
      run.signal.throwIfAborted()
      const { waitMs } = error as { waitMs?: number }
      if (attempt >= endpoint.maxRetries || waitMs === undefined) throw withoutSecrets(endpoint, error)
      await setTimeout(Math.min(waitMs || 500 * 2 ** attempt, LONGEST_WAIT_MS), undefined, {
        signal: run.signal,
      }).catch(() => {})
    }
  }
}

/** An error that may pass; `waitMs` is how long the server asks to wait, 0 when it does not say. */
class PassingError extends Error {
  readonly waitMs: number

  constructor(message: string, waitMs: number, cause?: unknown) {
    super(message, { cause })
    this.waitMs = waitMs
  }
}

async function attemptOnce(endpoint: Endpoint, texts: readonly string[], run: Run): Promise<Float32Array[]> {
  const { url, headers, body, timeoutSeconds } = endpoint
  const timeout = AbortSignal.timeout(timeoutSeconds * 1000)
  const signal = AbortSignal.any([run.signal, timeout])
  let status: number
  let reply: string
  let retryAfter: string | null
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      signal,
      body: JSON.stringify({ ...body, input: texts }),
    })
    status = response.status
    retryAfter = response.headers.get('retry-after')
    reply = await response.text()
  } catch (cause) {
    if (timeout.aborted) throw new Error(`said nothing for ${timeoutSeconds} s.`, { cause })
    throw new PassingError(`cannot be reached: ${reasonOf(cause)}`, 0, cause)
  }
  if (status === 200) return readVectors(reply, texts.length, run)
  const message = `answered ${status}: ${describe(reply)}`
  throw PASSING.has(status) ? new PassingError(message, Number(retryAfter ?? 0) * 1000 || 0) : new Error(message)
}

function readVectors(reply: string, count: number, run: Run): Float32Array[] {
  const { data, usage } = parse(reply) as {
    data?: { index?: number; embedding?: number[] }[]
    usage?: { prompt_tokens?: number }
  }
  const vectors: Float32Array[] = []
  for (const [place, { index = place, embedding }] of (data ?? []).entries()) {
    if (Array.isArray(embedding)) vectors[index] = Float32Array.from(embedding)
  }
  const lengths = new Set<number | undefined>(Array.from({ length: count }, (_, at) => vectors[at]?.length))
  if (vectors.length !== count || lengths.size > 1 || lengths.has(undefined) || lengths.has(0)) {
    throw new Error(`gave an answer that is not ${count} vectors of one length: ${reply.slice(0, 100)}`)
  }
  run.addUsage({ inputTokens: usage?.prompt_tokens ?? 0 })
  return vectors
}

function describe(reply: string): string {
  const { error } = parse(reply) as { error?: { message?: unknown } | string }
  const message = typeof error === 'string' ? error : error?.message
  return typeof message === 'string' ? message : reply.slice(0, 200) || 'nothing'
}

function parse(text: string): object {
  try {
    return (JSON.parse(text) as object | null) ?? {}
  } catch {
    return {}
  }
}

/** fetch says only that it failed; why, stands in the cause. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  return messageOf(cause ?? error)
}

function withoutSecrets({ subject, secrets }: Endpoint, error: unknown): Error {
  const message = `${subject} ${messageOf(error)}`.replace(/:\/\/[^/@\s]+@/g, '://')
  return new Error(secrets.reduce((text, secret) => text.replaceAll(secret, '[redacted]'), message))
}
