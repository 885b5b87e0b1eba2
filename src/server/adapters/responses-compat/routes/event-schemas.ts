import { type TProperties, type TSchema, Type } from 'typebox'
import { Integer, nullable, Text } from '../../../../wire/schemas.ts'
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
  const ofRecord = ['created', 'in_progress', ...endings].map((name) => event(`response.${name}`, { response: record }))
  return Type.Union([
    ...ofRecord,
    event('response.output_item.added', outputItem),
    event('response.output_item.done', outputItem),
    event('response.content_part.added', { ...content, part: textPart }),
    event('response.content_part.done', { ...content, part: textPart }),
    event('response.output_text.delta', { ...content, delta: Text }),
    event('response.output_text.done', { ...content, text: Text }),
    event('response.reasoning_summary_part.added', { ...summary, part: summaryPart }),
    event('response.reasoning_summary_part.done', { ...summary, part: summaryPart }),
    event('response.reasoning_summary_text.delta', { ...summary, delta: Text }),
    event('response.reasoning_summary_text.done', { ...summary, text: Text }),
    ...['function_call', 'mcp_call'].flatMap((type) => [
      event(`response.${type}_arguments.delta`, { ...item, delta: Text }),
      event(`response.${type}_arguments.done`, args),
    ]),
    event('response.compaction.compacting', item),
    event('response.custom_tool_call_input.delta', { ...item, delta: Text }),
    event('response.custom_tool_call_input.done', { ...item, input: Text }),
    ...['in_progress', 'completed', 'failed'].map((status) => event(`response.mcp_call.${status}`, item)),
    ...['in_progress', 'completed'].map((status) => event(`response.image_generation_call.${status}`, item)),
    event('error', { code: Text, message: Text, param: nullable(Text) }),
  ])
}

function event(type: string, fields: TProperties): TSchema {
  return Type.Object({ type: Type.Literal(type), sequence_number: Integer, ...fields })
}
