/** Weight of the parts of a word, relative to the word. */
const PARTS = 1.5
/** Letters of a word whose parts count: no word of a language is longer. */
const MAX_LETTERS = 64
/** Different words of a text that count: more of them tell texts apart no better. */
const MAX_WORDS = 100_000
/** A text is read in pieces that end with a word. What goes on for as long again is no word. */
const PIECE = /.{1,8192}[^\s\p{P}]{0,8192}/gsu
/** Work of a text of any length, in letters. */
const TEXT_WORK = 100

/**
 * A text as a point: each word and each group of three or four letters of it is hashed to one of the dimensions, and to a
 * sign, so that collisions cancel out on average (feature hashing, Weinberger et al. 2009).
 *
 * @returns the vector; yields the work since it last did, about in letters, so that others get their turn within a long text
 */
export function* hashText(text: string, dimensions: number): Generator<number, Float32Array> {
  const vector = new Float32Array(dimensions)
  const add = (feature: string, weight: number) => {
    const hash = hash32(feature)
    const at = (hash >>> 1) % dimensions
    vector[at] = (vector[at] as number) + (hash & 1 ? weight : -weight)
  }
  yield TEXT_WORK
  const words = yield* countWords(text)
  // Dots and dashes alone: the same text is at least near to itself.
  if (words.size === 0) add(`=${text}`, 1)
  for (const [word, count] of words) {
    addWord(word, Math.sqrt(count) * weightOf(word), add)
    yield word.length
  }
  return normalize(vector)
}

/** A word, and its parts: they find other forms of it, and it in spite of a typing error. */
function addWord(word: string, weight: number, add: (feature: string, weight: number) => void): void {
  add(`=${word}`, weight)
  const marked = `<${word.slice(0, MAX_LETTERS)}>`
  const count = 2 * marked.length - 5
  for (const size of [3, 4]) {
    for (let at = 0; at + size <= marked.length; at++) {
      add(marked.slice(at, at + size), (PARTS * weight) / Math.sqrt(count))
    }
  }
}

/** In lower case and without accents. Where words are not separated by spaces, each pair of characters is one. */
function* countWords(text: string): Generator<number, Map<string, number>> {
  const counts = new Map<string, number>()
  for (const [piece] of text.matchAll(PIECE)) {
    const plain = piece.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
    for (const [word] of plain.matchAll(/[\p{L}\p{N}]+/gu)) {
      for (const unit of isUnspaced(word) ? pairs(word) : [word]) {
        const count = counts.get(unit) ?? 0
        if (count > 0 || counts.size < MAX_WORDS) counts.set(unit, count + 1)
      }
    }
    yield plain.length
  }
  return counts
}

function isUnspaced(word: string): boolean {
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(word)
}

function pairs(word: string): string[] {
  const characters = [...word]
  return characters.length < 2
    ? characters
    : characters.slice(1).map((character, at) => `${characters[at]}${character}`)
}

/** Short words are mostly of the kind that every text has. */
function weightOf(word: string): number {
  return word.length <= 3 && /^\p{Script=Latin}+$/u.test(word) ? 0.3 : 1
}

/** FNV-1a, and the last step of MurmurHash3 to spread it over all bits. */
function hash32(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

function normalize(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector)
  return length === 0 ? vector : vector.map((number) => number / length)
}
