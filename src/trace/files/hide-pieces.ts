import { isObject } from '../../json.ts'
import type { Redact } from '../redact.ts'

interface Piece {
  readonly type?: unknown
  readonly text: string
}

/** Parts of a stream without secrets that came in pieces: where one did, the first of its parts has the whole text. */
export function hidePieces(parts: readonly unknown[], redact: Redact): readonly unknown[] {
  const texts = new Map<unknown, string>()
  for (const part of parts) if (isPiece(part)) texts.set(part.type, (texts.get(part.type) ?? '') + part.text)
  const whole = [...texts.values()].join('\n')
  if (redact(whole) === whole) return parts
  const shown = new Map<unknown, string>()
  for (const [type, text] of texts) {
    const pieces = parts.filter((part) => isPiece(part) && part.type === type) as Piece[]
    const hidden = redact(text)
    if (hidden !== pieces.map((piece) => redact(piece.text)).join('')) shown.set(type, hidden)
  }
  return parts.map((part) => {
    if (!isPiece(part) || !shown.has(part.type)) return part
    const text = shown.get(part.type) ?? ''
    shown.set(part.type, '')
    return { ...part, text }
  })
}

function isPiece(part: unknown): part is Piece {
  return isObject(part) && typeof part.text === 'string'
}
