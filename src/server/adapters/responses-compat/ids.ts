import { randomUUID } from 'node:crypto'

/** Places of the input count from 1 upwards, those of the output from here downwards. */
const LAST_POSITION = 0xfffff
/** More items than this cannot be told apart from those of the output. */
export const MAX_INPUT_ITEMS = 1_000_000

/**
 * Ids that grow with time: `resp_` and a UUID of version 7 (RFC 9562, section 5.7), whose 12 bits after the version count
 * within a millisecond, and whose last 20 bits are zero. Items of a response have its UUID with their place in those bits,
 * so that an item is found by its id, in a page of any size.
 */
export class ResponseIds {
  #ms = 0
  #count = 0

  next(nowMs = Date.now()): string {
    if (nowMs > this.#ms) {
      this.#ms = nowMs
      this.#count = 0
    } else if (++this.#count > 0xfff) {
      this.#ms++
      this.#count = 0
    }
    const random = randomUUID()
    const time = hex(this.#ms, 12)
    return `resp_${time.slice(0, 8)}-${time.slice(8)}-7${hex(this.#count, 3)}-${random.slice(19, 31)}00000`
  }
}

/** Comes before every id that is made at this time or later. */
export function firstIdAt(ms: number): string {
  const time = hex(ms, 12)
  return `resp_${time.slice(0, 8)}-${time.slice(8)}-7`
}

export function isResponseId(text: string): boolean {
  return /^resp_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(text)
}

/** @param index from 0 */
export function inputItemId(responseId: string, index: number): string {
  return placed('msg', responseId, index + 1)
}

/** @param index from 0 */
export function outputItemId(kind: 'msg' | 'fc', responseId: string, index: number): string {
  return placed(kind, responseId, LAST_POSITION - index)
}

/** Which response an item belongs to, and where in its input (index from 0) or its output it stands. */
export function findItem(itemId: string): { responseId: string; list: 'input' | 'output'; index: number } | undefined {
  const [, uuid = '', position = ''] = /^(?:msg|fc)_([0-9a-f-]{31})([0-9a-f]{5})$/.exec(itemId) ?? []
  const responseId = `resp_${uuid}00000`
  const place = Number.parseInt(position, 16)
  if (!isResponseId(responseId) || place === 0) return undefined
  if (place <= MAX_INPUT_ITEMS) return { responseId, list: 'input', index: place - 1 }
  return { responseId, list: 'output', index: LAST_POSITION - place }
}

/** The UUID of a response: its run has the same. */
export function uuidOf(responseId: string): string {
  return responseId.slice('resp_'.length)
}

function placed(kind: string, responseId: string, position: number): string {
  return `${kind}_${uuidOf(responseId).slice(0, -5)}${hex(position, 5)}`
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}
