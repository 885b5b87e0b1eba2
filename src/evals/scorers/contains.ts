import type { Scorer } from '../scorer.ts'

/** Share of the expected texts (one, or a list) that the answer contains, in any case of letters. */
export const contains: Scorer = ({ output, expected }) => {
  const wanted = [expected].flat().filter((text): text is string => typeof text === 'string')
  if (wanted.length === 0) return null
  const said = output.toLowerCase()
  const missing = wanted.filter((text) => !said.includes(text.toLowerCase()))
  const score = (wanted.length - missing.length) / wanted.length
  return { name: 'contains', score, ...(missing.length > 0 ? { metadata: { missing } } : {}) }
}
