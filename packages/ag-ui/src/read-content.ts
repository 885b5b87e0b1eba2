import { type AdapterHttp, type Attachment, type Capabilities, HostError } from 'agent-host'
import type { ClientMessage, Part } from './run-input.ts'

/** Maximum length of a name in a header. */
const MAX_LENGTH = 80

/** Content of a message for an agent. */
export interface Content {
  readonly content: string
  readonly attachments?: readonly Attachment[]
}

/** Kinds of parts that an agent takes, and those that it was spared. */
export interface ContentRules {
  readonly capabilities: Pick<Capabilities, 'takes'>
  readonly readAddress: AdapterHttp['readAddress']
  /** Takes the kinds of parts that are left out, as a header may name them. */
  readonly ignored: Set<string>
}

/**
 * Reads the content of a message. Parts that the agent cannot use are left out: the protocol has a run go on without them.
 *
 * @throws HostError `REQUEST_INVALID` naming the message
 */
export function readContent({ id, content }: ClientMessage, rules: ContentRules): Content {
  if (typeof content === 'string') return { content }
  const parts = content ?? []
  if (!Array.isArray(parts)) throw invalid(`messages '${id}': content must be a string or an array.`)
  const text = parts.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('')
  const attachments = parts.flatMap((part) => (part.type === 'text' ? [] : readPart(part, `messages '${id}'`, rules)))
  return { content: text, ...(attachments.length > 0 ? { attachments } : {}) }
}

function readPart(part: Part, field: string, { capabilities, readAddress, ignored }: ContentRules): Attachment[] {
  const attachment = toAttachment(part, field, readAddress)
  if (attachment && capabilities.takes(attachment.mediaType)) return [attachment]
  ignored.add((attachment?.mediaType ?? part.type).slice(0, MAX_LENGTH).replaceAll(/[^\w.+*/-]/g, '_'))
  return []
}

/** Undefined for what has neither bytes nor an address, such as a handle of a vendor. */
function toAttachment({ type, source }: Part, field: string, readAddress: AdapterHttp['readAddress']) {
  const fallback = source?.mimeType ?? `${type}/*`
  if (source?.type === 'url') return readAddress(source.value, field, fallback)
  const data = source?.type === 'data' ? Buffer.from(source.value, 'base64') : undefined
  return data?.length ? { mediaType: fallback, data } : undefined
}

/** Error of a request. */
export function invalid(message: string): HostError {
  return new HostError('REQUEST_INVALID', message)
}
