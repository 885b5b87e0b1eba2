/** Characters that move the cursor of a terminal or colour it, or have a text shown in another order than it is written. */
const UNSEEN = /[^\P{Cc}\n\t]|\p{Bidi_Control}/gu

/** Characters that nobody sees. Behind a visible one that is not ASCII, joiners and variants stay: emoji and several scripts need them. */
const INVISIBLE = /(?<![^\p{ASCII}\p{DI}])[\u200b-\u200d\p{VS}]|(?![\u200b-\u200d\p{VS}])[\p{DI}\p{Zl}\p{Zp}]/gu

/** The same as escapes of JSON. A backslash that is itself escaped begins none. */
const ESCAPED = /((?<!\\)(?:\\\\)*)\\(u00(?:[01][\da-f]|7f|[89][\da-f])|[bfr])/gi

/**
 * Returns a text as a person is to read it: characters that would show the rest otherwise than it is are escaped, as `\u202e`. Texts of
 * agents, models and files may hold anything.
 */
export function cleanText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(UNSEEN, (character) => `\\u${toHex(character)}`)
}

/** As {@link cleanText}, for what a person decides about: two texts that look alike are the same, but for letters of other scripts. */
export function cleanToDecide(text: string): string {
  return cleanText(text).replace(INVISIBLE, (character) => character.replace(/[\s\S]/g, (unit) => `\\u${toHex(unit)}`))
}

/** Returns JSON whose strings are as a person is to read them. */
export function cleanJson(json: string): string {
  return json.replace(ESCAPED, '$1\\\\$2').replace(UNSEEN, (character) => `\\\\u${toHex(character)}`)
}

function toHex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, '0')
}
