import { RUN_PREFIX, RunIds, uuidOf } from '../../../durable/runs/run-ids.ts'

/** Places of the input count from 1 upwards, those of the output from here downwards. */
const LAST_POSITION = 0xfffff
/** More items than this cannot be told apart from those of the output. */
export const MAX_INPUT_ITEMS = 1_000_000

const IDS = new RunIds(RUN_PREFIX)

/** Id of an input item: the UUID of the response with the item's place, so that an item is found by its id alone. */
export function inputItemId(responseId: string, index: number): string {
  return placed('msg', responseId, index + 1)
}

/** Prefixes of the ids of output items, by type. */
const ITEM_PREFIXES = Object.freeze({
  message: 'msg',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  mcp_call: 'mcp',
  reasoning: 'rs',
  image_generation_call: 'ig',
  compaction: 'cmp',
})

const ITEM_ID = new RegExp(`^(?:${Object.values(ITEM_PREFIXES).join('|')})_([0-9a-f-]{31})([0-9a-f]{5})$`)

/** @param index from 0 */
export function outputItemId(type: keyof typeof ITEM_PREFIXES, responseId: string, index: number): string {
  return placed(ITEM_PREFIXES[type], responseId, LAST_POSITION - index)
}

/** Place of an item: its response, and its index (from 0) in the input or output. Undefined for an id of another kind. */
export function findItem(itemId: string): { responseId: string; list: 'input' | 'output'; index: number } | undefined {
  const [, uuid = '', position = ''] = ITEM_ID.exec(itemId) ?? []
  const responseId = `${RUN_PREFIX}${uuid}00000`
  const place = Number.parseInt(position, 16)
  if (!IDS.isId(responseId) || place === 0) return undefined
  if (place <= MAX_INPUT_ITEMS) return { responseId, list: 'input', index: place - 1 }
  return { responseId, list: 'output', index: LAST_POSITION - place }
}

/** Id of the turn that an item belongs to; undefined for an id of another kind. */
export function turnIdOf(itemId: string): string | undefined {
  const [, uuid] = /^mcpr_([0-9a-f-]{36})-\d+$/.exec(itemId) ?? []
  return uuid === undefined ? findItem(itemId)?.responseId : RUN_PREFIX + uuid
}

function placed(prefix: string, responseId: string, position: number): string {
  return `${prefix}_${uuidOf(responseId).slice(0, -5)}${position.toString(16).padStart(5, '0')}`
}
