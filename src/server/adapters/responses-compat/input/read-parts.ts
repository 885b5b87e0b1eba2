import { withoutStack } from '../../../../errors.ts'
import type { Fields } from '../../../../json.ts'
import type { Attachment } from '../../../../protocols/message.ts'
import { invalidField, refusedField } from '../../../bodies/invalid-field.ts'
import { readAddress, readImage, requireBytes } from '../../../bodies/read-address.ts'
import { readAudio } from '../../../bodies/read-audio.ts'

/**
 * Reads the parts of a message or an output: their text, and what else there is as attachments.
 *
 * @param isStrict parts that cannot be read are refused, otherwise left out
 * @throws HostError `REQUEST_INVALID` naming the part
 */
export function readParts(
  parts: readonly Fields[],
  at: string,
  isStrict: boolean,
): { text: string; attachments: Attachment[] } {
  let text = ''
  const attachments: Attachment[] = []
  for (const [index, part] of parts.entries()) {
    const said = readText(part)
    if (typeof said === 'string') text += said
    else if (isText(part.type)) {
      if (isStrict) throw invalidField(`${at}[${index}].text`, 'must be a string')
    } else {
      const attachment = isStrict ? readAttachment(part, `${at}[${index}]`) : tryAttachment(part)
      if (attachment) attachments.push(attachment)
    }
  }
  return { text, attachments }
}

const ATTACHMENT_TYPES: ReadonlySet<unknown> = new Set(['input_image', 'input_file', 'input_audio'])

function tryAttachment(part: Fields): Attachment | undefined {
  if (!ATTACHMENT_TYPES.has(part.type)) return undefined
  try {
    return withoutStack(() => readAttachment(part, ''))
  } catch {
    return undefined
  }
}

function readAttachment(part: Fields, at: string): Attachment | undefined {
  return requireBytes(readPart(part, at), at)
}

function readPart(part: Fields, at: string): Attachment | undefined {
  const { type, image_url, detail, file_data, file_url, filename, file_id, input_audio } = part
  const name = typeof filename === 'string' ? filename : undefined
  if (type === 'refusal') return undefined
  if (file_id != null) throw refusedField(`${at}.file_id`, 'this server keeps no files. Send the data or a URL.')
  if (type === 'input_image') return readImage(image_url, detail, `${at}.image_url`)
  if (type === 'input_file') {
    const [address, field] = file_data == null ? [file_url, 'file_url'] : [file_data, 'file_data']
    return readAddress(address, `${at}.${field}`, 'application/octet-stream', name)
  }
  if (type === 'input_audio') return readAudio(input_audio, `${at}.input_audio`)
  if (type !== undefined && typeof type !== 'string') throw invalidField(`${at}.type`, 'must be a string')
  throw refusedField(`${at}.type`, `parts of the type '${type}' cannot be handled`)
}

function readText({ type, text, refusal }: Fields): unknown {
  if (type === 'refusal') return refusal
  return isText(type) ? text : undefined
}

function isText(type: unknown): boolean {
  return type === 'input_text' || type === 'output_text' || type === 'text'
}
