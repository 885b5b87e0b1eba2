import { parseJson } from '../../json.ts'

/** The value of a text that is JSON, also within a fence of Markdown; undefined for any other text. */
export function parseFenced(text: string): unknown {
  const bare = text.trim()
  // By hand for the most part: a model that goes astray writes blanks without end, and an expression for all of it backtracks.
  const [opening] = /^```(?:json)?[^\S\n]*\n/.exec(bare) ?? []
  if (opening === undefined || !bare.endsWith('```')) return parseJson(text)
  const inside = bare.slice(opening.length, -3)
  return parseJson(inside.slice(inside.trimEnd().length).includes('\n') ? inside : text)
}
