import { findDifferences } from '../components/differences.ts'

/** Name of the highlight in the style sheet. */
const NAME = 'difference'
/** Share of the shorter text: of texts that have less in common, nearly every word would be marked. */
const MIN_SHARED = 0.5

/**
 * Marks the words by which rendered texts differ from the first one, and those of the first that a single other lacks. The texts
 * themselves stay as they are (CSS Custom Highlight API); browsers without it mark nothing.
 *
 * @returns a function that ends it
 */
export function markDifferences(texts: readonly Element[]): () => void {
  const [first, ...others] = texts.map(wordsIn)
  if (!first || typeof Highlight === 'undefined') return () => {}
  const highlight = CSS.highlights.get(NAME) ?? new Highlight()
  CSS.highlights.set(NAME, highlight)
  const ranges = others.flatMap((other) => {
    const [inFirst, inOther] = findDifferences(
      first.map(({ word }) => word),
      other.map(({ word }) => word),
    )
    const shared = inOther.filter((isDifferent) => !isDifferent).length
    if (shared < MIN_SHARED * Math.min(first.length, other.length)) return []
    return [...(others.length === 1 ? rangesOf(first, inFirst) : []), ...rangesOf(other, inOther)]
  })
  for (const range of ranges) highlight.add(range)
  return () => {
    for (const range of ranges) highlight.delete(range)
  }
}

/** Ranges of the words that are marked: one for those beside each other. */
function rangesOf(words: readonly Word[], isMarked: readonly boolean[]): Range[] {
  const ranges: Range[] = []
  for (const [index, { range }] of words.entries()) {
    if (!isMarked[index]) continue
    const before = ranges.at(-1)
    if (before && isMarked[index - 1] && before.endContainer === range.startContainer) {
      before.setEnd(range.endContainer, range.endOffset)
    } else ranges.push(range)
  }
  return ranges
}

interface Word {
  readonly word: string
  readonly range: Range
}

function wordsIn(text: Element): Word[] {
  const nodes = document.createTreeWalker(text, NodeFilter.SHOW_TEXT)
  const words: Word[] = []
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    if (node.parentElement?.closest('.code-head')) continue
    for (const { 0: word, index } of (node.nodeValue ?? '').matchAll(/\S+/g)) {
      const range = new Range()
      range.setStart(node, index)
      range.setEnd(node, index + word.length)
      words.push({ word, range })
    }
  }
  return words
}
