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
  const [old, now] = [wordsOf(before), wordsOf(value)]
  const shortest = Math.min(old.length, now.length)
  let start = 0
  while (start < shortest && old[start] === now[start]) start++
  let end = 0
  while (end < shortest - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const [lost, got] = [old, now].map((words) => words.slice(start, words.length - end).join(' ')) as [string, string]
  if (lost === '') return `+${got}`
  return got === '' ? `−${lost}` : `${shorten(lost, SHOWN_CHARS / 2)} → ${got}`
}

function wordsOf(value: unknown): string[] {
  if (value === undefined) return ['default']
  if (typeof value !== 'string') return [JSON.stringify(value)]
  const words = value.split(/\s+/).filter(Boolean)
  return words.length === 0 ? [JSON.stringify(value)] : words
}
