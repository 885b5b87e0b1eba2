import { spendLength } from '../../json.ts'

/** Maximum length of a text that is written in one piece. */
export const PIECE_LENGTH = 32 * 1024

/** Gives the JSON of a value in pieces, so that a large one is never there as a whole. The value is JSON, with undefined fields. */
export function* jsonPieces(value: unknown): Generator<string> {
  if (typeof value === 'string') return yield* textPieces(value)
  if (typeof value !== 'object' || value === null || spendLength(value, PIECE_LENGTH) >= 0)
    return yield JSON.stringify(value)
  const isList = Array.isArray(value)
  let before = isList ? '[' : '{'
  for (const [name, field] of Object.entries(value)) {
    if (field === undefined && !isList) continue
    yield isList ? before : `${before}${JSON.stringify(name)}:`
    yield* jsonPieces(field ?? null)
    before = ','
  }
  yield isList ? ']' : '}'
}

/** A JSON string, piece by piece. */
function* textPieces(text: string): Generator<string> {
  yield '"'
  for (let start = 0; start < text.length; ) {
    const end = endOfPiece(text, start)
    yield JSON.stringify(text.slice(start, end)).slice(1, -1)
    start = end
  }
  yield '"'
}

/** A pair of surrogates stays together: halves would be escaped. */
function endOfPiece(text: string, start: number): number {
  const end = start + PIECE_LENGTH
  const isInPair = end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
  return isInPair ? end - 1 : end
}
