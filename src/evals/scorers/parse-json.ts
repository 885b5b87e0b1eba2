/** The value of a text that is JSON, also within a fence of Markdown; undefined for any other text. */
export function parseJson(text: string): { readonly value: unknown } | undefined {
  const [, fenced = text] = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text) ?? []
  try {
    return { value: JSON.parse(fenced) }
  } catch {
    return undefined
  }
}
