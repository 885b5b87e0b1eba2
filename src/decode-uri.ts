/** Encodes any text for an address or a file name. JSON may hold half a surrogate pair, which has no bytes: it becomes U+FFFD. */
export function encodeUri(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString())
}

/** Decodes `%XX` in a text; one that is not encoded that way is returned as it is. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
