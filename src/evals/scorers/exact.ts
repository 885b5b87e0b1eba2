import { isDeepStrictEqual } from 'node:util'
import type { Scorer } from '../scorer.ts'
import { parseFenced } from './parse-fenced.ts'

/** 1 if the answer is the expected text, up to blanks around it; for anything but a text, if it is JSON of the same value. */
export const exact: Scorer = ({ output, expected }) => {
  if (expected === undefined) return null
  const isSame =
    typeof expected === 'string' ? output.trim() === expected.trim() : isDeepStrictEqual(parseFenced(output), expected)
  return { name: 'exact', score: isSame ? 1 : 0 }
}
