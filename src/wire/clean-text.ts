/** Characters that move the cursor of a terminal or colour it, or have a text shown in another order than it is written. */
const UNSEEN = /[^\P{Cc}\n\t]|\p{Bidi_Control}/gu

/** The same as escapes of JSON. A backslash that is itself escaped begins none. */
const ESCAPED = /((?<!\\)(?:\\\\)*)\\(u00(?:[01][\da-f]|7f|[89][\da-f])|[bfr])/gi

/**
 * Returns a text as a person is to read it: characters that would show the rest otherwise than it is are escaped, as `\u202e`. Texts of
 * agents, models and files may hold anything.
 */
export function cleanText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(UNSEEN, (character) => `\\u${toHex(character)}`)
}

/** Returns JSON whose strings are as a person is to read them. */
export function cleanJson(json: string): string {
  return json.replace(ESCAPED, '$1\\\\$2').replace(UNSEEN, (character) => `\\\\u${toHex(character)}`)
}

function toHex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, '0')
}
