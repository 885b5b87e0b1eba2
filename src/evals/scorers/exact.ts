import { isDeepStrictEqual } from 'node:util'
import type { Scorer } from '../scorer.ts'
import { parseJson } from './parse-json.ts'

/** 1 if the answer is the expected text, up to blanks around it; for anything but a text, if it is JSON of the same value. */
export const exact: Scorer = ({ output, expected }) => {
  if (expected === undefined) return null
  const isSame =
    typeof expected === 'string'
      ? output.trim() === expected.trim()
      : isDeepStrictEqual(parseJson(output)?.value, expected)
  return { name: 'exact', score: isSame ? 1 : 0 }
}
