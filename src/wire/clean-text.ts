/** Characters that move the cursor of a terminal or colour it, or have a text shown in another order than it is written. */
const UNSEEN = /[^\P{Cc}\n\t]|\p{Bidi_Control}/gu

/** A visible character of an emoji, or of a script that needs joiners. */
const JOINED = '[^\\p{ASCII}\\p{DI}\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}\\p{Script=Inherited}]'

/** Invisible characters, except the joiners and variation selectors that emoji, keycaps and several scripts need. */
const INVISIBLE = new RegExp(
  [
    `(?<!${JOINED}\\ufe0f?)\\u200d`,
    `(?<!${JOINED})[\\u200b\\u200c]`,
    `(?<!${JOINED}|[\\d#*](?=\\ufe0f\\u20e3))\\p{VS}`,
    '(?![\\u200b-\\u200d\\p{VS}])[\\p{DI}\\p{Zl}\\p{Zp}]',
  ].join('|'),
  'gu',
)

/** The same as escapes of JSON. A backslash that is itself escaped begins none. */
const ESCAPED = /((?<!\\)(?:\\\\)*)\\(u00(?:[01][\da-f]|7f|[89][\da-f])|[bfr])/gi

/**
 * Returns a text as a person is to read it: characters that would show the rest otherwise than it is are escaped, as `\u202e`. Texts of
 * agents, models and files may hold anything.
 */
export function cleanText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(UNSEEN, escapeUnits)
}

/** As {@link cleanText}, for texts that a person decides about: invisible characters are escaped too. */
export function cleanToDecide(text: string): string {
  return cleanText(text).replace(INVISIBLE, escapeUnits)
}

/** Escapes of a character as in JSON, one for each UTF-16 code unit. */
export function escapeUnits(character: string): string {
  return character.replace(/[\s\S]/g, (unit) => `\\u${toHex(unit)}`)
}

/** Returns JSON whose strings are as a person is to read them. */
export function cleanJson(json: string): string {
  return json.replace(ESCAPED, '$1\\\\$2').replace(UNSEEN, (character) => `\\\\u${toHex(character)}`)
}

function toHex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, '0')
}
