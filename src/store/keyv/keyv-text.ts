/** Returns the text that Keyv writes for a value, without taking its JSON apart. */
export function toKeyvText({ value, expires }: { value?: unknown; expires?: number | undefined }): string {
  return expires === undefined ? `{"value":${value}}` : `{"value":${value},"expires":${expires}}`
}

const HEAD = '{"value":'

/**
 * Returns the JSON text of the value in a text of Keyv. Other programs may lay theirs out in another way. A damaged text is returned as it is:
 * its reader reports that one record, and the others of a list are read.
 */
export function fromKeyvText(text: string): string {
  const isPlain = text.startsWith(HEAD) && !text.includes('"expires":', text.length - 40)
  if (isPlain) return text.slice(HEAD.length, -1)
  try {
    return JSON.stringify(JSON.parse(text).value)
  } catch {
    return text
  }
}
