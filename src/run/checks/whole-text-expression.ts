/** `(?i)` and `(?s)` at the beginning, as Python and Rust write them. */
const LEADING_FLAGS = /^\(\?([is]{1,2})\)/

/**
 * Makes an expression that a whole text has to match. Clients write it for the regular expressions of their own language: names of groups,
 * flags and escapes of Python and Rust become those of JavaScript.
 *
 * @throws SyntaxError for what JavaScript does not have
 */
export function wholeTextExpression(pattern: string): RegExp {
  const [prefix = '', flags = ''] = LEADING_FLAGS.exec(pattern) ?? []
  const body = pattern.slice(prefix.length).replace(/\\(.)|\(\?P</gsu, toJavaScript)
  return new RegExp(`^(?:${body})$`, `u${flags}`)
}

function toJavaScript(whole: string, escaped?: string): string {
  if (escaped === undefined) return '(?<'
  if (escaped === 'A') return '^'
  if (escaped === 'z' || escaped === 'Z') return '$'
  // JavaScript takes an escape of its own signs alone.
  return /[ -/:-@[-`{-~]/.test(escaped) ? `\\x${escaped.charCodeAt(0).toString(16)}` : whole
}
