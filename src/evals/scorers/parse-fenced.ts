import { parseJson } from '../../json.ts'
/** The value of a text that is JSON, also within a fence of Markdown; undefined for any other text. */
export function parseFenced(text: string): unknown {
  const [, fenced = text] = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text) ?? []
  return parseJson(fenced)
}
