import { setTimeout } from 'node:timers/promises'
import { fetchWithinOrigin, fieldsOf, limitBody, messageOf, parseJson, type Run } from 'agent-host'

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
/** 8,192 numbers of 32 characters. */
const MAX_VECTOR_MIB = 0.25

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
      const waitMs = error instanceof PassingError ? error.waitMs : undefined
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
  const timeout = AbortSignal.timeout(Math.ceil(timeoutSeconds * 1000))
  const signal = AbortSignal.any([run.signal, timeout])
  let status: number
  let reply: string
  let retryAfter: string | null
  try {
    const response = await fetchWithinOrigin(url, {
      method: 'POST',
      headers,
      signal,
      body: JSON.stringify({ ...body, input: texts }),
    })
    status = response.status
    retryAfter = response.headers.get('retry-after')
    reply = await limitBody(response, (1 + texts.length * MAX_VECTOR_MIB) * 1024 * 1024).text()
  } catch (cause) {
    if (timeout.aborted) throw new Error(`said nothing for ${timeoutSeconds} s.`, { cause })
    // Only errors of the network pass: any other would come again.
    if (!(cause instanceof TypeError)) throw new Error(`cannot be used: ${messageOf(cause)}`, { cause })
    throw new PassingError(`cannot be reached: ${reasonOf(cause)}`, 0, cause)
  }
  if (status === 200) return readVectors(reply, texts.length, run)
  const message = `answered ${status}: ${describe(reply)}`
  throw PASSING.has(status) ? new PassingError(message, Number(retryAfter ?? 0) * 1000 || 0) : new Error(message)
}

function readVectors(reply: string, count: number, run: Run): Float32Array[] {
  const { data, usage } = fieldsOf(parseJson(reply))
  const vectors: Float32Array[] = []
  for (const [place, vector] of (Array.isArray(data) ? data : []).map(fieldsOf).entries()) {
    const { index = place, embedding } = vector
    if (Array.isArray(embedding)) vectors[Number(index)] = Float32Array.from(embedding)
  }
  const lengths = new Set<number | undefined>(Array.from({ length: count }, (_, at) => vectors[at]?.length))
  if (vectors.length !== count || lengths.size > 1 || lengths.has(undefined) || lengths.has(0)) {
    throw new Error(`gave an answer that is not ${count} vectors of one length: ${reply.slice(0, 100)}`)
  }
  const { prompt_tokens: inputTokens } = fieldsOf(usage)
  run.addUsage({ inputTokens: typeof inputTokens === 'number' ? inputTokens : 0 })
  return vectors
}

function describe(reply: string): string {
  const { error } = fieldsOf(parseJson(reply))
  const message = typeof error === 'string' ? error : fieldsOf(error).message
  return typeof message === 'string' ? message : reply.slice(0, 200) || 'nothing'
}

/** fetch says only that it failed; why, stands in the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return messageOf(cause ?? error)
}

function withoutSecrets({ subject, secrets }: Endpoint, error: unknown): Error {
  const message = `${subject} ${messageOf(error)}`.replace(/:\/\/[^/@\s]+@/g, '://')
  return new Error(secrets.reduce((text, secret) => text.replaceAll(secret, '[redacted]'), message))
}
