import { type Attachment, fieldsOf, type Message, ModelRefused } from 'agent-host'

/** A request that was never sent, for an attachment that the model does not take. */
export class NotTaken extends Error {
  readonly attachment: Attachment

  constructor(message: string, attachment: Attachment) {
    super(message)
    this.attachment = attachment
  }
}

/** Conversations that are too long, in the codes and words of vendors, gateways and servers of open models. */
const TOO_LONG = [
  /context_length_exceeded|prompt_tokens_exceeded|exceed_context_size|request_too_large/i,
  /\b(maximum|max|exceed\w*|overflow\w*|than)\b[^.]{0,60}\bcontext[ _-](length|window|size|limit)/i,
  /\bcontext[ _-](length|window|size|limit)\b[^.]{0,40}\bexceed/i,
  /\b(prompt|input|inputs|conversation|messages)\b( is| are)? too (long|large)\b/i,
  /\b(input|prompt) (token count|tokens?|length)\b[^.]{0,80}\bexceed/i,
  /\b(maximum|max) (model|prompt|input) length\b|\bexceeded model token limit|\bexceeds max length|\brange of input length/i,
  /reduce the length of the (messages|prompt|input)|too large for model with|too many tokens: total|context the overflows/i,
]
const TOO_LARGE = /^request too large for|message size/i

const NO_QUOTA =
  /insufficient_quota|billing_hard_limit|billing_not_active|exceeded_current_quota_error|credit balance is too low|insufficient (account )?(balance|credits?|funds)|used all available credits|spending limit|arrearage/i

const WRONG_KEY = /api[ _-]?key\b.*\b(in|not )valid|\b(invalid|incorrect|expired)\b.*\bapi[ _-]?key/i

const NOT_TAKEN =
  /(n't|\bnot|\bonly|\bun)[ -]?support|unsupported|unknown variant|does not (accept|have)|content\b.{0,30}must be a string|invalid (content type|mime)|missing data required for/i
const PART =
  /image|audio|video|vision|multimodal|\bpdf\b|\bfiles?\b|document|content[ -]type|content\b.{0,30}must be a string|mime|media/i

/** Failed request or stream, as far as it tells why. */
interface Told {
  readonly status: number | undefined
  readonly words: string
}

/** The error for a cause that the client of a run can act on; undefined for any other. */
export function toRefusal(message: string, cause: unknown, messages: readonly Message[]): ModelRefused | undefined {
  const told = read(cause)
  if (isTooLong(told)) return new ModelRefused(message, { reason: 'context_length_exceeded', cause })
  if (hasNoQuota(told)) return new ModelRefused(message, { reason: 'insufficient_quota', cause })
  const attachment = findRefused(cause, told, messages)
  if (!attachment) return undefined
  const question = messages.findLast(({ role }) => role === 'user')
  const place = attachmentsOf(question).indexOf(attachment)
  return new ModelRefused(message, {
    reason: 'attachment_not_taken',
    attachment,
    index: place === -1 ? undefined : place,
    cause,
  })
}

function isTooLong({ status, words }: Told): boolean {
  if (status === 401 || status === 403) return false
  if (status === 429 || status === 413) return TOO_LARGE.test(words) || /context_length|too_large/.test(words)
  return TOO_LONG.some((pattern) => pattern.test(words))
}

/** Tells a request that no repetition cures: the account has no money left. */
export function lacksQuota(error: unknown): boolean {
  return hasNoQuota(read(error))
}

function hasNoQuota({ status, words }: Told): boolean {
  return status === 402 || NO_QUOTA.test(words)
}

/** Tells a refused key, also where a vendor has another status for it. */
export function refusesKey(error: unknown): boolean {
  const { status, words } = read(error)
  return status === 401 || status === 403 || (status === 400 && WRONG_KEY.test(words))
}

/** The attachment that the SDK or the vendor refuses, the latest that fits. */
function findRefused(cause: unknown, { status, words }: Told, messages: readonly Message[]): Attachment | undefined {
  if (cause instanceof NotTaken) return cause.attachment
  const isOfSdk =
    fieldsOf(cause instanceof Error ? (cause.cause ?? cause) : cause).name === 'AI_UnsupportedFunctionalityError'
  const isOfVendor = [400, 404, 415, 422, 500].includes(status ?? 0) && NOT_TAKEN.test(words) && PART.test(words)
  if (!isOfSdk && !isOfVendor) return undefined
  const all = messages
    .flatMap(attachmentsOf)
    .filter(({ data }) => !isOfSdk || !/URLs?\b/.test(words) || data instanceof URL)
  return all.findLast(({ mediaType }) => isNamed(mediaType, words)) ?? all.at(-1)
}

function isNamed(mediaType: string, words: string): boolean {
  const [kind = '', subtype = ''] = mediaType.split('/')
  return [mediaType, subtype, kind].some((word) => word.length > 2 && words.toLowerCase().includes(word))
}

function attachmentsOf(message: Message | undefined): readonly Attachment[] {
  return message?.role === 'user' ? (message.attachments ?? []) : []
}

/** Reads the status and all words of an error, in whatever shape the SDK has it. */
function read(error: unknown): Told {
  const chain = [error, fieldsOf(error).cause].map(fieldsOf)
  const status = chain.map(({ statusCode }) => statusCode).find((value) => typeof value === 'number')
  const words = chain.flatMap(({ message, code, type, responseBody, data, value, error: inner }) => [
    ...[message, code, type, responseBody].filter((each) => typeof each === 'string'),
    ...[data, value, inner].filter((each) => each !== undefined).map((each) => JSON.stringify(each)),
  ])
  return { status: typeof status === 'number' ? status : undefined, words: words.join('\n').slice(0, MAX_CHARS) }
}

const MAX_CHARS = 10_000
