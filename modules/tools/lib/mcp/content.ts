import { isDeepStrictEqual } from 'node:util'
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client'
import { type Attachment, fieldsOf, parseJson, type ToolResult } from 'agent-host'

/** Converts the answer of an MCP server's tool: its texts for the model to read, everything else as attachments. */
export function toToolResult({ content, structuredContent, isError }: CallToolResult): ToolResult {
  const texts = content.map(describeBlock).filter((text) => text !== '')
  const attachments = content.flatMap((block) => toAttachment(block) ?? [])
  if (structuredContent !== undefined && !holds(texts, structuredContent)) texts.push(JSON.stringify(structuredContent))
  return {
    text: texts.join('\n'),
    ...(structuredContent === undefined ? {} : { data: structuredContent }),
    ...(attachments.length === 0 ? {} : { attachments }),
    ...(isError ? { isError } : {}),
  }
}

/** Texts mostly repeat the structure as JSON; some servers wrap what they say in `result`. */
function holds(texts: readonly string[], structure: unknown): boolean {
  const { result, ...others } = fieldsOf(structure)
  const values = texts.map((text) => {
    const value = parseJson(text)
    return value === undefined ? text : value
  })
  const said = [...values, values, texts.join('\n')].map((value) => ({ value, length: lengthOf(value) }))
  const isSaid = (wanted: unknown) => {
    const length = lengthOf(wanted)
    return said.some((each) => each.length === length && isDeepStrictEqual(each.value, wanted))
  }
  return (
    texts.length > 0 &&
    (isSaid(structure) || (result !== undefined && Object.keys(others).length === 0 && isSaid(result)))
  )
}

/** Length as JSON, which is the same for equal values: comparing a large value with each of thousands of small ones would take hours. NaN if it is nested too deep for JSON. */
function lengthOf(value: unknown): number {
  try {
    return JSON.stringify(value).length
  } catch {
    return Number.NaN
  }
}

function describeBlock(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
    case 'audio':
      return `[${block.type}: ${block.mimeType}]`
    case 'resource_link':
      return `[${block.title ?? block.name}](${block.uri})`
    case 'resource':
      return 'text' in block.resource ? block.resource.text : `[file: ${block.resource.uri}]`
  }
}

function toAttachment(block: ContentBlock): Attachment | undefined {
  if (block.type === 'image' || block.type === 'audio') {
    return { mediaType: block.mimeType, data: Buffer.from(block.data, 'base64') }
  }
  if (block.type !== 'resource' || !('blob' in block.resource)) return undefined
  const { blob, mimeType = 'application/octet-stream', uri } = block.resource
  return { mediaType: mimeType, data: Buffer.from(blob, 'base64'), name: uri.split('/').at(-1) || uri }
}
