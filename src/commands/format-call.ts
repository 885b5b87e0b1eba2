/** Characters that move the cursor of a terminal, or have it show a text in another order than it is read. */
const UNSEEN = /[\p{Cc}\p{Bidi_Control}]/gu

/** Returns a call as a person reads it before deciding: whatever would show its arguments otherwise than they are is escaped. */
export function formatCall(name: string, args: unknown): string {
  const escape = (text: string) => text.replace(UNSEEN, (character) => `\\u${toHex(character)}`)
  return `${escape(name)}(${escape(JSON.stringify(args) ?? '')})`
}

function toHex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, '0')
}
