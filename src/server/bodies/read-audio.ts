import { decodeBase64 } from '../../base64.ts'
import { fieldsOf } from '../../json.ts'
import type { Attachment } from '../../protocols/message.ts'
import { invalidField } from './invalid-field.ts'

/** Subtype of a media type, as both APIs name formats. */
const FORMAT = /^[a-z0-9][a-z0-9.+-]{0,31}$/i

/**
 * Reads sound as the chat and the responses API send it: base64, and the name of its format.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function readAudio(audio: unknown, field: string): Attachment {
  const { data, format } = fieldsOf(audio)
  if (typeof data !== 'string') throw invalidField(`${field}.data`, 'must be bytes in base64.')
  if (typeof format !== 'string' || !FORMAT.test(format)) {
    throw invalidField(`${field}.format`, 'must be a format such as wav or mp3.')
  }
  return { mediaType: `audio/${format === 'mp3' ? 'mpeg' : format}`, data: decodeBase64(data) }
}
