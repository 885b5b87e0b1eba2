/** Value of a text that is a JSON object or list; any other text as it is. Tools often answer in this way. */
export function parseJson(text: unknown): unknown {
  if (typeof text !== 'string' || !/^\s*[{[]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
