import { type AdapterOptions, type Attachment, fieldsOf, isObject } from 'agent-host'
import { invalid } from './errors.ts'
import type { Block } from './schema.ts'

type ReadAddress = AdapterOptions['http']['readAddress']

/** Texts and attachments of blocks. */
export interface Parts {
  readonly texts: readonly string[]
  readonly attachments: readonly Attachment[]
}

const NOTHING: Parts = Object.freeze({ texts: [], attachments: [] })

/**
 * Reads what blocks say and show.
 *
 * @param content of a message, or of a block, which may have none
 * @param field of the content in the request
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function readParts(content: unknown, field: string, readAddress: ReadAddress): Parts {
  if (typeof content === 'string') return said(content)
  if (content === undefined || content === null) return NOTHING
  if (!Array.isArray(content)) throw invalid(field, 'must be a string or an array')
  return join(content.map((block, index) => readBlock(block, `${field}[${index}]`, readAddress)))
}

function join(parts: readonly Parts[]): Parts {
  return {
    texts: parts.flatMap(({ texts }) => texts),
    attachments: parts.flatMap(({ attachments }) => attachments),
  }
}

/** Blocks within a block are checked here alone. */
function readBlock(block: Block, field: string, readAddress: ReadAddress): Parts {
  if (!isObject(block)) throw invalid(field, 'must be an object')
  switch (readText(block.type, `${field}.type`)) {
    case 'text':
      return said(readText(block.text, `${field}.text`))
    case 'image':
      return { texts: [], attachments: [readSource(block, field, 'image/*', readAddress)] }
    case 'document':
      return readDocument(block, field, readAddress)
    case 'search_result':
      return readSearchResult(block, field, readAddress)
    case 'tool_reference':
      return NOTHING
    default:
      throw invalid(`${field}.type`, `'${block.type}' is not served`)
  }
}

/** @throws HostError `REQUEST_INVALID` naming the field */
export function readText(text: unknown, field: string): string {
  if (typeof text !== 'string') throw invalid(field, 'must be a string')
  return text
}

function said(text: string): Parts {
  return { texts: [text], attachments: [] }
}

/** A document of text is said under its title and its context; the model reads the bytes of any other. */
function readDocument(block: Block, field: string, readAddress: ReadAddress): Parts {
  const { type, data, content } = fieldsOf(block.source)
  const heading = textsOf(block.title, block.context).join('\n')
  if (type === 'text') return titled(heading, said(readText(data, `${field}.source.data`)))
  if (type === 'content') return titled(heading, readParts(content, `${field}.source.content`, readAddress))
  const read = readSource(block, field, 'application/pdf', readAddress)
  const [name] = textsOf(block.title)
  return { texts: textsOf(block.context), attachments: [name === undefined ? read : { ...read, name }] }
}

function readSearchResult(block: Block, field: string, readAddress: ReadAddress): Parts {
  const heading = textsOf(block.title, block.source).join(', ')
  return titled(heading, readParts(block.content, `${field}.content`, readAddress))
}

function textsOf(...values: readonly unknown[]): string[] {
  return values.filter((value) => typeof value === 'string')
}

function titled(title: string, parts: Parts): Parts {
  return title === '' ? parts : { ...parts, texts: [`${title}\n${parts.texts.join('\n')}\n`] }
}

/** RFC 6838, section 4.2, with parameters. */
const MEDIA_TYPE = /^[\w.!#$&^+-]+\/[\w.!#$&^+-]+(;[ -~]*)?$/

function readSource(block: Block, field: string, fallback: string, readAddress: ReadAddress): Attachment {
  const { type, data, url, media_type: mediaType } = fieldsOf(block.source)
  if (type === 'url') return readAddress(url, `${field}.source.url`, fallback)
  if (type !== 'base64') {
    const name = readText(type, `${field}.source.type`)
    throw invalid(`${field}.source.type`, `'${name}' is not served: send base64 or a URL`)
  }
  const named = readText(mediaType, `${field}.source.media_type`)
  if (!MEDIA_TYPE.test(named)) throw invalid(`${field}.source.media_type`, 'must be a media type, such as image/png')
  const bytes = Buffer.from(readText(data, `${field}.source.data`), 'base64')
  if (bytes.length === 0) throw invalid(`${field}.source.data`, 'holds no bytes in base64')
  return { mediaType: named, data: bytes }
}
