import { readApiKeys } from '../guards/api-keys.ts'

/** Characters of a secret that cannot be guessed. */
const MIN_SECRET_LENGTH = 32

/** One option: how it is named everywhere, and how its value is read. */
export interface OptionSpec<T = unknown> {
  /** On the command line, without the dashes. */
  readonly flag: string
  /** The environment variable that stands in for the flag. */
  readonly variable: string
  readonly description: string
  readonly kind: 'text' | 'switch' | 'list'
  readonly default: T
  /**
   * From the command line's or the environment's text, or a program's value.
   *
   * @throws Error that names the valid values
   */
  readonly read: (raw: unknown) => T
}

/** Option of one text or value, whose variable is named as its flag. */
export function option<T>(
  flag: string,
  fallback: T,
  description: string,
  read: (raw: unknown) => T,
  kind: OptionSpec['kind'] = 'text',
): OptionSpec<T> {
  return { flag, variable: variableOf(flag), description, kind, default: fallback, read }
}

/** Option that is any text but the empty one. */
export function text(flag: string, fallback: string, description: string): OptionSpec<string> {
  return option(flag, fallback, description, readText)
}

/** Option that is a whole number. */
export function number(
  flag: string,
  fallback: number,
  description: string,
  { min, max }: { min: number; max: number },
): OptionSpec<number> {
  return option(flag, fallback, description, (raw) => {
    const value = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
    throw new Error(`must be a whole number from ${min} to ${max}, not '${raw}'`)
  })
}

/** Option that is off unless it is given. */
export function toggle(flag: string, description: string): OptionSpec<boolean> {
  return option(flag, false, description, readBoolean, 'switch')
}

/** Option that can be given several times, or as one text with commas. */
export function list(flag: string, description: string, read = readList): OptionSpec<readonly string[]> {
  return option(flag, Object.freeze([]), description, read, 'list')
}

/** Reads a list of texts, or one text with commas. */
export function readList(raw: unknown): readonly string[] {
  const items: unknown[] = Array.isArray(raw) ? raw : [raw]
  if (!items.every((item) => typeof item === 'string')) throw new Error('must be a list of strings')
  const names = items.flatMap((item) => item.split(',')).map((name) => name.trim())
  return Object.freeze(names.filter((name) => name !== ''))
}

/** Option that is a key of an adapter, or several with names. */
export function key(flag: string, variable: string, description: string): OptionSpec<string | undefined> {
  return { flag, variable, description, kind: 'text', default: undefined, read: readKey }
}

/**
 * Reads keys that clients can send in a header. An empty one is a mistake (an unset variable in a script), and must not
 * mean "no key". The message does not repeat it.
 */
export function readKey(raw: unknown): string {
  const text = readToken(raw)
  readApiKeys(text)
  return text
}

/** Reads a secret that clients can send in a header. */
export function readToken(raw: unknown): string {
  if (typeof raw !== 'string' || raw.trim() === '') throw new Error('must not be empty')
  if (!/^[\x21-\x7e]+$/.test(raw)) throw new Error('must consist of visible ASCII characters, without spaces')
  return raw
}

/** Reads a secret from which a key is made. The message does not repeat it. */
export function readSecret(raw: unknown): string {
  if (typeof raw === 'string' && raw.length >= MIN_SECRET_LENGTH) return raw
  throw new Error(`must have at least ${MIN_SECRET_LENGTH} characters: openssl rand -hex 32 makes one`)
}

function variableOf(flag: string): string {
  return `AGENT_HOST_${flag.toUpperCase().replaceAll('-', '_')}`
}

export function readText(raw: unknown): string {
  if (typeof raw === 'string' && raw !== '') return raw
  throw new Error('must not be empty')
}

/** Reads a switch. */
function readBoolean(raw: unknown): boolean {
  if (typeof raw === 'boolean') return raw
  if (/^(true|1|yes|on)$/i.test(String(raw))) return true
  if (/^(false|0|no|off)$/i.test(String(raw))) return false
  throw new Error(`must be true or false, not '${raw}'`)
}

/** Reads a part of a whole: a switch, a number up to 1, or a percentage. */
export function readShare(raw: unknown): number {
  if (typeof raw === 'boolean' || /^(true|yes|on|false|no|off)$/i.test(String(raw))) return Number(readBoolean(raw))
  const [, digits = '', percent] = /^\s*(\d+(?:\.\d+)?)\s*(%?)\s*$/.exec(String(raw)) ?? []
  const share = digits === '' ? NaN : Number(digits) / (percent ? 100 : 1)
  if (share <= 1) return share
  throw new Error(`must be true, false, or a part from 0 to 1 or in percent, not '${raw}'`)
}

const UNITS: Readonly<Record<string, number>> = { '': 1, b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 }

/** Reads a number of bytes, or a text like `512kb`. */
export function readBytes(raw: unknown): number {
  const [, count = '', unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(String(raw)) ?? []
  const bytes = Math.floor(Number(count) * (UNITS[unit.toLowerCase()] ?? NaN))
  if (count !== '' && Number.isSafeInteger(bytes) && bytes > 0) return bytes
  throw new Error(`must be a number of bytes, or like 512kb or 10mb, not '${raw}'`)
}
