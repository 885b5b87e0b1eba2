/** Returns the text that Keyv writes for a value, without taking its JSON apart. */
export function toKeyvText({ value, expires }: { value?: unknown; expires?: number | undefined }): string {
  return expires === undefined ? `{"value":${value}}` : `{"value":${value},"expires":${expires}}`
}

const HEAD = '{"value":'

/** Returns the JSON text of the value in a text of Keyv. Other programs may lay theirs out in another way. */
export function fromKeyvText(text: string): string {
  const isPlain = text.startsWith(HEAD) && !text.includes('"expires":', text.length - 40)
  return isPlain ? text.slice(HEAD.length, -1) : JSON.stringify(JSON.parse(text).value)
}
