import { getOrAdd } from '../get-or-add.ts'
import type { Redact } from './redact.ts'

/** A piece of a text. */
export interface Piece {
  /** Pieces of one text have the same. */
  readonly key: unknown
  readonly text: string
}

/** Returns other texts for the pieces of those texts that have a secret in several: the first has the whole without it, the rest nothing. */
export function hideInPieces<P extends Piece>(pieces: Iterable<P>, hide: Redact): ReadonlyMap<P, string> {
  const hidden = new Map<P, string>()
  const streams = joinPieces(pieces)
  const all = streams.map(textOf).join('\n')
  if (hide(all) === all) return hidden
  for (const stream of streams) {
    const whole = hide(textOf(stream))
    if (whole === stream.map(({ text }) => hide(text)).join('')) continue
    for (const [index, piece] of stream.entries()) hidden.set(piece, index === 0 ? whole : '')
  }
  return hidden
}

/** Returns the pieces of each text, in their order. */
export function joinPieces<P extends Piece>(pieces: Iterable<P>): P[][] {
  const joined = new Map<unknown, P[]>()
  for (const piece of pieces) getOrAdd(joined, piece.key, () => []).push(piece)
  return [...joined.values()]
}

export function textOf(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join('')
}
