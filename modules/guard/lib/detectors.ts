import { makeRedact, messageOf } from 'agent-host'
import { withinLimit } from './within-limit.ts'

/** Replaces every match. */
export type Detector = (text: string, replacement: string) => string

type Environment = Readonly<Record<string, string | undefined>>

/** Kinds of data that guards know, by the names that a config uses. */
export const DETECTORS = Object.freeze({
  card_number: () => replaceMatches(/(?<![\d.])\d(?:[ -]?\d){12,18}(?!\.*\d)/g, hasCheckDigit),
  // Tried from the start of a word alone: a long one would take quadratic time. So one match has all addresses of a word.
  email: () => replaceMatches(/(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+(?:[.+][\w.+-]*@[\w-]+(?:\.[\w-]+)+)*/g),
  secret: (environment: Environment) => {
    const redact = makeRedact(environment)
    return (text: string, replacement: string) => redact(text).replaceAll('[redacted]', () => replacement)
  },
}) satisfies Readonly<Record<string, (environment: Environment) => Detector>>

/**
 * Makes a detector of a pattern. A text that it takes too long for is replaced as a whole.
 *
 * @throws Error naming a pattern that is no regular expression
 */
export function toDetector(pattern: string): Detector {
  try {
    const find = replaceMatches(new RegExp(pattern, 'giu'))
    return (text, replacement) => withinLimit(() => find(text, replacement), replacement)
  } catch (cause) {
    throw new Error(`patterns: ${messageOf(cause)}`, { cause })
  }
}

function replaceMatches(pattern: RegExp, isMeant: (match: string) => boolean = () => true): Detector {
  return (text, replacement) =>
    text.replace(pattern, (match: string) => (match !== '' && isMeant(match) ? replacement : match))
}

/** Luhn, ISO/IEC 7812-1: most numbers of that length are no card numbers. */
function hasCheckDigit(match: string): boolean {
  const digits = [...match.replace(/\D/g, '')].reverse().map(Number)
  const sum = digits.reduce((total, digit, index) => {
    const value = index % 2 === 1 ? digit * 2 : digit
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}
