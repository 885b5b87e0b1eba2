/** Decodes `%XX` in a text; one that is not encoded that way is returned as it is. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
