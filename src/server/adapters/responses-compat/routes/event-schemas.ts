import { type TProperties, type TSchema, Type } from 'typebox'
import { Integer, nullable, ofType, Text } from '../../../../wire/schemas.ts'
import { OutputItem, OutputMessage, Reasoning } from './schema.ts'

const item = { item_id: Text, output_index: Integer }
const content = { ...item, content_index: Integer }
const summary = { ...item, summary_index: Integer }
const textPart = OutputMessage.properties.content.items
const summaryPart = Reasoning.properties.summary.items
const outputItem = { output_index: Integer, item: OutputItem }
const args = { ...item, name: Text, arguments: Text }

/**
 * Schema of the data of one event of a streamed response. The events are written by hand ({@link EventWriter}); a test compares.
 *
 * @param record schema of a response in the dialect
 * @param endings names of the events that a stream may end with
 */
export function describeEvents(record: TSchema, endings: readonly string[]): TSchema {
  const ofRecord = ['created', 'in_progress', ...endings].map((name) => event(name, { response: record }))
  return Type.Union([
    ...ofRecord,
    event('output_item.added', outputItem),
    event('output_item.done', outputItem),
    event('content_part.added', { ...content, part: textPart }),
    event('content_part.done', { ...content, part: textPart }),
    event('output_text.delta', { ...content, delta: Text }),
    event('output_text.done', { ...content, text: Text }),
    event('reasoning_summary_part.added', { ...summary, part: summaryPart }),
    event('reasoning_summary_part.done', { ...summary, part: summaryPart }),
    event('reasoning_summary_text.delta', { ...summary, delta: Text }),
    event('reasoning_summary_text.done', { ...summary, text: Text }),
    ...['function_call', 'mcp_call'].flatMap((type) => [
      event(`${type}_arguments.delta`, { ...item, delta: Text }),
      event(`${type}_arguments.done`, args),
    ]),
    event('compaction.compacting', item),
    event('custom_tool_call_input.delta', { ...item, delta: Text }),
    event('custom_tool_call_input.done', { ...item, input: Text }),
    ...['in_progress', 'completed', 'failed'].map((status) => event(`mcp_call.${status}`, item)),
    ...['in_progress', 'completed'].map((status) => event(`image_generation_call.${status}`, item)),
    numbered('error', { code: Text, message: Text, param: nullable(Text) }),
  ])
}

function event(name: string, fields: TProperties): TSchema {
  return numbered(`response.${name}`, fields)
}

function numbered(type: string, fields: TProperties): TSchema {
  return ofType(type, { sequence_number: Integer, ...fields })
}
