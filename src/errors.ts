/**
 * Every code that a {@link HostError} can carry, with the HTTP status that a client is answered with when
 * an error of that code ends its request. Docs list the same table; a test compares them.
 *
 * @example
 * ```ts
 * export function statusOf(error: unknown): number {
 *   return error instanceof HostError ? ERROR_CODES[error.code] : 500
 * }
 * ```
 */
export const ERROR_CODES = {
  AGENT_INVALID: 500,
  AGENT_DUPLICATE: 500,
  AGENT_NOT_FOUND: 400,
  AGENT_FAILED: 500,
  OUTPUT_INVALID: 500,
  CONTEXT_TOO_LONG: 400,
  QUOTA_EXHAUSTED: 503,
  RUN_ABORTED: 499,
  RUN_TIMEOUT: 504,
  PROTOCOL_INVALID: 500,
  MODULE_NOT_FOUND: 500,
  MODULE_INVALID: 500,
  REQUEST_INVALID: 400,
  UNAUTHORIZED: 401,
  KEY_FORBIDDEN: 403,
  HOST_FORBIDDEN: 403,
  ORIGIN_FORBIDDEN: 403,
  TOO_MANY_ATTEMPTS: 429,
  LIMIT_REACHED: 429,
  OVERLOADED: 503,
  SHUTTING_DOWN: 503,
  RESPONSE_NOT_FOUND: 404,
  RESPONSE_CONFLICT: 409,
  CONVERSATION_NOT_FOUND: 404,
  APPROVAL_NOT_FOUND: 404,
  APPROVAL_DECIDED: 409,
  RUN_NOT_WAITING: 409,
  STORE_UNAVAILABLE: 503,
  RECORD_UNREADABLE: 503,
  ISSUER_UNAVAILABLE: 503,
  AUDIT_UNAVAILABLE: 503,
  KEY_MISSING: 503,
  ADAPTER_NOT_FOUND: 500,
  OPTION_INVALID: 500,
  PROJECT_INVALID: 500,
  TAPE_INVALID: 500,
} as const

/** Code of an error, by which programs tell errors apart. */
export type ErrorCode = keyof typeof ERROR_CODES

/** Facts of a vendor's limit. */
export interface ModelLimit {
  /** 429: too many requests of this account. 529: no capacity at the vendor. */
  readonly status: 429 | 529
  /** Wait before the next request, as the vendor wants it; undefined if it does not say. */
  readonly retryAfterSeconds: number | undefined
}

/**
 * Error of a model that refuses a request for a limit of its vendor. Where the run has neither sent a text nor called a tool, clients of `/v1`
 * learn when to try again.
 *
 * @example
 * ```ts
 * export function refuse(reply: Response): Error {
 *   const seconds = Number(reply.headers.get('retry-after') ?? Number.NaN)
 *   return new ModelLimited('Too many requests.', {
 *     status: 429,
 *     retryAfterSeconds: Number.isNaN(seconds) ? undefined : seconds,
 *   })
 * }
 * ```
 */
export class ModelLimited extends Error implements ModelLimit {
  override readonly name = 'ModelLimited'
  readonly status: ModelLimit['status']
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, { status, retryAfterSeconds, cause }: ModelLimit & { readonly cause?: unknown }) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Cause of a refusal that the client of a run can act on, by the name that vendors have for it. */
export type RefusalReason = 'context_length_exceeded' | 'insufficient_quota' | 'attachment_not_taken'

/** Facts of a model's refusal. */
export interface ModelRefusal {
  readonly reason: RefusalReason
  /** Attachment that the model does not take. */
  readonly attachment?: { readonly mediaType: string; readonly data: Uint8Array | URL } | undefined
  /** Place of the attachment among those of the question; undefined for one of an earlier message. */
  readonly index?: number | undefined
}

/**
 * Error of a model that refuses a request for a cause that the client of the run can act on: clients learn it, in a sentence of the host. The message of
 * this error is for logs and traces.
 *
 * @example
 * ```ts
 * export function tooLong(cause: unknown): Error {
 *   return new ModelRefused('The vendor takes 8000 tokens.', { reason: 'context_length_exceeded', cause })
 * }
 * ```
 */
export class ModelRefused extends Error implements ModelRefusal {
  override readonly name = 'ModelRefused'
  readonly reason: RefusalReason
  readonly attachment: ModelRefusal['attachment']
  readonly index: number | undefined

  constructor(message: string, { reason, attachment, index, cause }: ModelRefusal & { readonly cause?: unknown }) {
    super(message, cause === undefined ? undefined : { cause })
    this.reason = reason
    this.attachment = attachment
    this.index = index
  }
}

/** Code of an error that clients of models know. */
export type ClientCode = Exclude<RefusalReason, 'attachment_not_taken'> | 'rate_limit_exceeded'

/** Codes of errors that clients of models know, by those of ours. */
export const CLIENT_CODES = {
  CONTEXT_TOO_LONG: 'context_length_exceeded',
  QUOTA_EXHAUSTED: 'insufficient_quota',
  LIMIT_REACHED: 'rate_limit_exceeded',
} as const

/** Returns the code by which clients of models know an error, if there is one. */
export function clientCodeOf(error: unknown): ClientCode | undefined {
  return error instanceof HostError
    ? new Map<string, ClientCode>(Object.entries(CLIENT_CODES)).get(error.code)
    : undefined
}

/** The failure of an ended run, by what is stored of it. */
export function failureOf(message = 'Agent execution failed', code?: ClientCode): HostError {
  const known = Object.entries(CLIENT_CODES).find(([, each]) => each === code)
  return new HostError((known?.[0] as keyof typeof CLIENT_CODES | undefined) ?? 'AGENT_FAILED', message)
}

/** Facts of an error beside its code and message. */
export interface HostErrorOptions {
  /** Next steps for the reader, one line each. */
  suggestions?: readonly string[]
  /** Path of the field of a request that is wrong, `messages[0].role`. */
  field?: string | undefined
  /** The first error, kept as it was thrown. */
  cause?: unknown
  /** Limit of a vendor for which a run failed before it had any effect: it can be repeated. */
  limit?: ModelLimit | undefined
  /** Id of the agent that failed. */
  agentId?: string | undefined
}

/**
 * An error of agent-host: what happened, to which named thing, and the next step.
 *
 * @example
 * ```ts
 * export function requireOrder(id: string | undefined): string {
 *   if (id !== undefined) return id
 *   throw new HostError('REQUEST_INVALID', 'The order is missing.', { suggestions: ['Name it: { "order": "A-1" }'] })
 * }
 * ```
 */
export class HostError extends Error {
  override readonly name: string = 'HostError'
  readonly code: ErrorCode
  readonly statusCode: number
  readonly suggestions: readonly string[]
  readonly field: string | undefined
  readonly limit: ModelLimit | undefined
  readonly agentId: string | undefined

  constructor(
    code: ErrorCode,
    message: string,
    { suggestions = [], field, cause, limit, agentId }: HostErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.statusCode = ERROR_CODES[code]
    this.suggestions = suggestions
    this.field = field
    this.limit = limit
    this.agentId = agentId
  }
}

/** Tells an error of agent-host from any other, by its code. */
export function hasCode(error: unknown, code: ErrorCode): error is HostError {
  return error instanceof HostError && error.code === code
}

/** Error of a request that the client has to change. */
export function badRequest(message: string, options?: HostErrorOptions): HostError {
  return new HostError('REQUEST_INVALID', message, options)
}

/** Error of an option of a command or a server that its user has to change. */
export function badOption(message: string, options?: HostErrorOptions): HostError {
  return new HostError('OPTION_INVALID', message, options)
}

/** Error of the files of a project that its author has to change. */
export function badProject(message: string, options?: HostErrorOptions): HostError {
  return new HostError('PROJECT_INVALID', message, options)
}

/** Refusal of what would exceed a limit of a key, or of its tenant. */
export class LimitReached extends HostError {
  /** Name of the limit in the file of keys. */
  readonly limited: string
  readonly retryAfterSeconds: number

  constructor(message: string, limited: string, retryAfterSeconds: number) {
    super('LIMIT_REACHED', message)
    this.limited = limited
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/**
 * The message of anything that was thrown: user code may throw a string, or nothing.
 *
 * @example
 * ```ts
 * export async function tryTo(work: () => Promise<string>): Promise<string> {
 *   return work().catch((error: unknown) => `failed: ${messageOf(error)}`)
 * }
 * ```
 */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message || thrown.name
    return typeof thrown === 'string' ? thrown : `${JSON.stringify(thrown) ?? String(thrown)}`
  } catch {
    // A circle, a bigint, or a proxy that throws.
    return typeof thrown === 'bigint' ? String(thrown) : `${typeof thrown} that has no JSON`
  }
}

/**
 * Returns what was thrown and its causes, each once: those of errors that others have made may form a circle. It ends before one that
 * cannot be read, such as a proxy that was revoked.
 *
 * @example
 * ```ts
 * export function isAborted(error: unknown): boolean {
 *   return causesOf(error).some((cause) => cause instanceof Error && cause.name === 'AbortError')
 * }
 * ```
 */
export function causesOf(thrown: unknown): unknown[] {
  const causes = new Set([thrown])
  const read: unknown[] = []
  try {
    for (const cause of causes) {
      if (cause instanceof Error && cause.cause !== undefined) causes.add(cause.cause)
      read.push(cause)
    }
  } catch {
    // Nobody can say what this one is.
  }
  return read
}

/** Creates or throws errors that are never read: capturing their stacks would cost more than the rest of the work. */
export function withoutStack<T>(work: () => T): T {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return work()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Code of an error of the system or a driver, such as `ENOENT`; undefined for anything else. */
export function systemCodeOf(error: unknown): string | undefined {
  const hasCode = typeof error === 'object' && error !== null && 'code' in error
  return hasCode && typeof error.code === 'string' ? error.code : undefined
}
