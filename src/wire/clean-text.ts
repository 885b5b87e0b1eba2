/** Characters that move the cursor of a terminal or colour it, or have a text shown in another order than it is written. */
const UNSEEN = /[^\P{Cc}\n\t]|\p{Bidi_Control}/gu

/**
 * Returns a text as a person is to read it: characters that would show the rest otherwise than it is are escaped, as `\u202e`. Texts of
 * agents, models and files may hold anything.
 */
export function cleanText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(UNSEEN, (character) => `\\u${toHex(character)}`)
}

function toHex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, '0')
}
