import { decodeBase64 } from '../../base64.ts'
import { DecodedUrl, readDataUrl } from '../../data-url.ts'
import { fieldsOf } from '../../json.ts'
import type { Attachment } from '../../protocols/message.ts'
import type { ContentPart } from './chat-message.ts'
import { invalidField } from './invalid-field.ts'
import { readImage, requireBytes } from './read-address.ts'
import { readAudio } from './read-audio.ts'

/**
 * Reads the attachment of a part; undefined for a type that is not known.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function readAttachment(part: ContentPart, path: string): Attachment | undefined {
  return requireBytes(readPart(part, path), path)
}

function readPart(part: ContentPart, path: string): Attachment | undefined {
  switch (part.type) {
    case 'image_url':
      return readPicture(part, path)
    case 'input_audio':
      return readAudio(part.input_audio, `${path}.input_audio`)
    case 'file':
      return readFile(part, path)
    default:
      return undefined
  }
}

function readPicture({ image_url }: ContentPart, path: string): Attachment {
  const isAddress = typeof image_url === 'string' || image_url instanceof DecodedUrl
  const { url, detail } = isAddress ? { url: image_url } : fieldsOf(image_url)
  return readImage(url, detail, `${path}.image_url.url`)
}

function readFile({ file }: ContentPart, path: string): Attachment {
  const { file_data, file_id, filename } = file ?? {}
  if (typeof file_id === 'string') throw invalidField(`${path}.file.file_id`, 'cannot be read here: send file_data.')
  const named = typeof filename === 'string' ? { name: filename } : {}
  const read = file_data && readDataUrl(file_data)
  if (read) return { ...read, ...named }
  if (typeof file_data !== 'string') throw invalidField(`${path}.file.file_data`, 'is missing.')
  const mediaType = filename?.toLowerCase().endsWith('.pdf') ? 'application/pdf' : 'application/octet-stream'
  return { mediaType, data: decodeBase64(file_data), ...named }
}
