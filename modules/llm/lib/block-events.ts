import { fieldsOf, parseJson } from 'agent-host'
import type { MendEvent } from './vendor-fetch.ts'

/** Block of an answer of the messages API. */
interface Block {
  /** Index that the SDK tells it by. */
  readonly index: number
  /** Index that the vendor began it with. */
  readonly theirs: unknown
  readonly isCall: boolean
}

/**
 * Gives each block of an answer an index of its own, where servers in the style of Anthropic share one, or lose it: the SDK would drop
 * what it cannot place, and a call would have no arguments.
 */
export function mendBlockEvents(): MendEvent {
  const open: Block[] = []
  let begun = 0

  return (data) => {
    if (!data.includes('"content_block_')) return data
    const isDelta = data.includes('"content_block_delta"')
    const [, plain] = (isDelta && /"index"\s*:\s*(\d+)/.exec(data)) || []
    const last = open.at(-1)
    // The vendor itself: one block after another, and nothing to mend.
    if (last && open.length === 1 && plain === String(last.index) && last.theirs === last.index) return data
    return mend(data) ?? data
  }

  function mend(data: string): string | undefined {
    // The SDK says what is wrong with what is no JSON.
    const event = fieldsOf(parseJson(data))
    const block = find(event)
    if (!block) return undefined
    if (event.type === 'content_block_stop') open.splice(open.indexOf(block), 1)
    return JSON.stringify({ ...event, index: block.index })
  }

  function find({ type, index, content_block, delta }: Readonly<Record<string, unknown>>): Block | undefined {
    if (type === 'content_block_start') {
      const block = { index: begun++, theirs: index, isCall: fieldsOf(content_block).type === 'tool_use' }
      open.push(block)
      return block
    }
    const isOfCall = fieldsOf(delta).type === 'input_json_delta'
    const fitting = isOfCall ? open.filter(({ isCall }) => isCall) : open
    return fitting.findLast(({ theirs }) => theirs === index) ?? fitting.at(-1)
  }
}
