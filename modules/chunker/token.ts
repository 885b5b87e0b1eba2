import { setImmediate } from 'node:timers/promises'
import { Chunker, defineModule, type Run, Type } from 'agent-host'

/** After so many characters others get their turn. */
const TURN = 20_000

export default defineModule({
  name: 'TokenChunker',
  description: 'Splits a text into overlapping pieces of a number of tokens, between sentences where possible.',
  provides: [Chunker],
  scope: 'agent',
  config: Type.Object({
    max_tokens: Type.Integer({
      minimum: 8,
      default: 200,
      description: 'Longest piece. Tokens are estimated: four bytes each.',
    }),
    overlap: Type.Integer({
      minimum: 0,
      default: 20,
      description: 'Tokens that two neighbouring pieces share; at most half of max_tokens.',
    }),
  }),
  create: (_, { max_tokens, overlap }) => {
    const limits = { maxBytes: max_tokens * 4, overlapBytes: Math.min(overlap, Math.floor(max_tokens / 2)) * 4 }
    return {
      async chunk(text, run) {
        const words = await takeTurns(splitWords(text, limits.maxBytes), run)
        return takeTurns(cut(words, limits), run)
      },
    }
  },
})

interface Limits {
  readonly maxBytes: number
  readonly overlapBytes: number
}

/** Collects the parts of a text, which may be long. */
async function takeTurns(parts: Iterable<string>, run: Run): Promise<string[]> {
  run.signal.throwIfAborted()
  const all: string[] = []
  let work = 0
  for (const part of parts) {
    all.push(part)
    work += part.length
    if (work < TURN) continue
    work = 0
    await setImmediate()
    run.signal.throwIfAborted()
  }
  return all
}

function* cut(words: readonly string[], { maxBytes, overlapBytes }: Limits): Generator<string> {
  for (let begin = 0; begin < words.length; ) {
    const full = advance(words, begin, maxBytes)
    const end = full === words.length ? full : endOfSentence(words, begin, full)
    const piece = words.slice(begin, end).join('').trim()
    if (piece !== '') yield piece
    if (end === words.length) return
    begin = Math.max(begin + 1, retreat(words, end, overlapBytes))
  }
}

/** The first word that does not fit any more; at least one does. */
function advance(words: readonly string[], begin: number, maxBytes: number): number {
  let left = maxBytes
  let end = begin
  for (; end < words.length && sizeOf(words[end]) <= left; end++) left -= sizeOf(words[end])
  return Math.max(end, begin + 1)
}

function retreat(words: readonly string[], end: number, overlapBytes: number): number {
  let left = overlapBytes
  let begin = end
  for (; begin > 0 && sizeOf(words[begin - 1]) <= left; begin--) left -= sizeOf(words[begin - 1])
  return begin
}

/** Behind the last sentence, or the last paragraph, in the second half; otherwise wherever it is full. */
function endOfSentence(words: readonly string[], begin: number, full: number): number {
  for (let end = full; end > begin + (full - begin) / 2; end--) {
    if (/[.!?。！？]["')\]]*\s+$|\n\s*$/.test(words[end - 1] ?? '')) return end
  }
  return full
}

/** Words with their trailing space; words longer than a piece, and languages without spaces, in parts. */
function* splitWords(text: string, maxBytes: number): Generator<string> {
  for (const [word] of text.matchAll(/(?:^\s+)?\S+\s*/g)) {
    if (sizeOf(word) > maxBytes / 4) yield* splitLong(word, maxBytes)
    else yield word
  }
}

/** Splits between graphemes, so that no character is torn apart. */
function* splitLong(word: string, maxBytes: number): Generator<string> {
  for (let begin = 0; begin < word.length; ) {
    const full = charactersWithin(word.slice(begin, begin + maxBytes), maxBytes / 8)
    const end = begin + endOfGraphemes(word, begin, full)
    yield word.slice(begin, end)
    begin = end
  }
}

/** Number of units up to the last grapheme that ends within `full`, at least one. Sees a part at a time: each look takes as long as all that is seen. */
function endOfGraphemes(word: string, begin: number, full: number): number {
  const segmenter = new Intl.Segmenter()
  for (let length = full + 8; ; length *= 2) {
    const seen = word.slice(begin, begin + length)
    const { index, segment } = segmenter.segment(seen).containing(full) ?? { index: seen.length, segment: '' }
    if (index > 0) return index
    if (segment.length < seen.length || begin + length >= word.length) return segment.length
  }
}

/** Number of the UTF-16 units of a text that fit into so many bytes. */
function charactersWithin(text: string, maxBytes: number): number {
  return new TextEncoder().encodeInto(text, new Uint8Array(maxBytes)).read
}

function sizeOf(text = ''): number {
  return Buffer.byteLength(text)
}
