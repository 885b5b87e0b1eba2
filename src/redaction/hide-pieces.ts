import { isObject } from '../json.ts'
import { hideInPieces } from './hide-in-pieces.ts'
import type { Redact } from './redact.ts'

/** Parts of a stream without secrets that came in pieces: where one did, the first of its parts has the whole text. */
export function hidePieces(parts: readonly unknown[], redact: Redact): readonly unknown[] {
  const pieces = parts.flatMap((part, index) => (isPiece(part) ? [{ key: part.type, text: part.text, index }] : []))
  const hidden = hideInPieces(pieces, redact)
  if (hidden.size === 0) return parts
  const texts = new Map([...hidden].map(([{ index }, text]) => [index, text]))
  return parts.map((part, index) => (texts.has(index) ? { ...(part as object), text: texts.get(index) } : part))
}

function isPiece(part: unknown): part is { readonly type?: unknown; readonly text: string } {
  return isObject(part) && typeof part.text === 'string'
}
