/** Weight of the parts of a word, relative to the word. */
const PARTS = 1.5

/**
 * A text as a point: each word and each group of three or four letters of it is hashed to one of the dimensions, and to a
 * sign, so that collisions cancel out on average (feature hashing, Weinberger et al. 2009).
 */
export function hashText(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  const add = (feature: string, weight: number) => {
    const hash = hash32(feature)
    const at = (hash >>> 1) % dimensions
    vector[at] = (vector[at] as number) + (hash & 1 ? weight : -weight)
  }
  const words = countWords(text)
  // Dots and dashes alone: the same text is at least near to itself.
  if (words.size === 0) add(`=${text}`, 1)
  for (const [word, count] of words) addWord(word, Math.sqrt(count) * weightOf(word), add)
  return normalize(vector)
}

/** A word, and its parts: they find other forms of it, and it in spite of a typing error. */
function addWord(word: string, weight: number, add: (feature: string, weight: number) => void): void {
  add(`=${word}`, weight)
  const marked = `<${word}>`
  const parts = [3, 4].flatMap((size) =>
    Array.from({ length: Math.max(0, marked.length - size + 1) }, (_, at) => marked.slice(at, at + size)),
  )
  for (const part of parts) add(part, (PARTS * weight) / Math.sqrt(parts.length))
}

/** In lower case and without accents. Where words are not separated by spaces, each pair of characters is one. */
function countWords(text: string): Map<string, number> {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const counts = new Map<string, number>()
  for (const [word] of plain.matchAll(/[\p{L}\p{N}]+/gu)) {
    for (const unit of isUnspaced(word) ? pairs(word) : [word]) counts.set(unit, (counts.get(unit) ?? 0) + 1)
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
