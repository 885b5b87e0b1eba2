import { Chunker, defineModule, Type } from 'agent-host'

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
        run.signal.throwIfAborted()
        return cut(splitWords(text, limits.maxBytes), limits)
      },
    }
  },
})

interface Limits {
  readonly maxBytes: number
  readonly overlapBytes: number
}

function cut(words: readonly string[], { maxBytes, overlapBytes }: Limits): string[] {
  const pieces: string[] = []
  for (let begin = 0; begin < words.length; ) {
    const full = advance(words, begin, maxBytes)
    const end = full === words.length ? full : endOfSentence(words, begin, full)
    const piece = words.slice(begin, end).join('').trim()
    if (piece !== '') pieces.push(piece)
    if (end === words.length) break
    begin = Math.max(begin + 1, retreat(words, end, overlapBytes))
  }
  return pieces
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
function splitWords(text: string, maxBytes: number): string[] {
  return (text.match(/(?:^\s+)?\S+\s*/g) ?? []).flatMap((word) =>
    sizeOf(word) > maxBytes / 4 ? splitLong(word, maxBytes) : [word],
  )
}

/** Splits by grapheme, so that no character is torn apart. */
function splitLong(word: string, maxBytes: number): string[] {
  const parts = ['']
  for (const { segment } of new Intl.Segmenter().segment(word)) {
    const last = parts.at(-1) as string
    if (last !== '' && sizeOf(last + segment) > maxBytes / 8) parts.push(segment)
    else parts[parts.length - 1] = last + segment
  }
  return parts
}

function sizeOf(text = ''): number {
  return Buffer.byteLength(text)
}
