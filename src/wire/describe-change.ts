import { shorten } from '../shorten.ts'
import { formatPath } from './format-path.ts'
import type { TracedChange } from './variant.ts'

const SHOWN_CHARS = 60

/** Name of a variant by what differs: `system_prompt: +Be brief., llm.model: gpt-5 → gpt-5-mini`. Where a value of before is not known, the new one is named. */
export function nameChanges(changes: readonly TracedChange[]): string {
  const isOnly = ({ path }: TracedChange) =>
    changes.filter((each) => formatPath(each.path) === formatPath(path)).length === 1
  return changes
    .map((change) => {
      const { agent, module, path } = change
      const owner =
        path[0] === 'system_prompt' && agent === undefined && isOnly(change) ? [] : [agent ?? [], module].flat()
      return `${formatPath([...owner, ...path])}: ${shorten(differenceOf(change), SHOWN_CHARS)}`
    })
    .join(', ')
}

function differenceOf({ value, before }: TracedChange): string {
  if (before === undefined || before === null) return wordsOf(value).join(' ')
  const changed = changedPart(wordsOf(before), wordsOf(value))
  const lost = changed.lost.join(' ')
  const got = changed.got.join(' ')
  if (lost === '') return `+${got}`
  return got === '' ? `−${lost}` : `${shorten(lost, SHOWN_CHARS / 2)} → ${got}`
}

/** Part of a list that another version of it does not share. */
export interface ChangedPart {
  /** Index at which both begin to differ. */
  readonly start: number
  readonly lost: readonly string[]
  readonly got: readonly string[]
}

/** Returns what is between the parts that are the same at the beginning and at the end. */
export function changedPart(before: readonly string[], after: readonly string[]): ChangedPart {
  const shortest = Math.min(before.length, after.length)
  let start = 0
  while (start < shortest && before[start] === after[start]) start++
  let end = 0
  while (end < shortest - start && before.at(-1 - end) === after.at(-1 - end)) end++
  return { start, lost: before.slice(start, before.length - end), got: after.slice(start, after.length - end) }
}

function wordsOf(value: unknown): string[] {
  if (value === undefined) return ['default']
  if (typeof value !== 'string') return [JSON.stringify(value)]
  const words = value.split(/\s+/).filter(Boolean)
  return words.length === 0 ? [JSON.stringify(value)] : words
}
