import { decodeUri, encodeUri } from '../decode-uri.ts'
import { OBJECT, requireGiven, TEXT } from '../given.ts'
import { parseJson } from '../json.ts'
import { anyOf, REDACTED } from './redacted.ts'
import { isSecretName } from './secret-name.ts'

/** Puts `[redacted]` in the place of every secret in a text. */
export type Redact = (text: string) => string

/** Shorter values would stand in texts by chance. */
const MIN_CHARS = 8
/** Folders of the shell, not passwords. */
const HARMLESS_VARIABLES = new Set(['PWD', 'OLDPWD'])

/**
 * Returns what finds secrets in plain text and as JSON writes them: the values of variables of the environment whose names
 * speak of one, and passwords of URLs among the others; user information in URLs, `Bearer` and `Basic` credentials, codes of sign-ins, keys of
 * well-known formats, and values of flags and query parameters whose names speak of a secret.
 *
 * @example
 * ```ts
 * const redact = makeRedact({ SHOP_KEY: 'a-secret-key' })
 * export const shown = redact('The key is a-secret-key.') // The key is [redacted].
 * ```
 */
export function makeRedact(environment: Readonly<Record<string, string | undefined>>): Redact {
  requireGiven(OBJECT, environment, 'environment')
  const redact = replaceSecrets(environment, () => REDACTED)
  return (text) => {
    if (typeof text !== 'string') requireGiven(TEXT, text, 'text')
    return redact(text)
  }
}

/** As {@link makeRedact}, with `${NAME}` in the place of the value of a variable. */
export function makeNameSecrets(environment: Readonly<Record<string, string | undefined>>): Redact {
  return replaceSecrets(environment, (name) => `\${${name}}`)
}

function replaceSecrets(
  environment: Readonly<Record<string, string | undefined>>,
  replacementOf: (variable: string) => string,
): Redact {
  const replacements = new Map<string, string>()
  for (const { name, secret } of listSecrets(environment)) {
    for (const written of SAME_IN_ALL.test(secret) ? [secret] : formsOf(secret)) {
      if (!replacements.has(written)) replacements.set(written, replacementOf(name))
    }
  }
  if (replacements.size === 0) return redactFormats
  const pattern = anyOf([...replacements.keys()])
  return (text) => redactFormats(text.replace(pattern, (secret) => replacements.get(secret) ?? REDACTED))
}

/** Most secrets are the same in JSON and in addresses. */
const SAME_IN_ALL = /^[\w.~-]*$/

/** A secret as it is, in JSON, in JSON that is a text of JSON, in an address, and as `Authorization: Basic` sends it (RFC 7617). */
function formsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1)
  const forms = [secret, inJson, JSON.stringify(inJson).slice(1, -1), encodeUri(secret)]
  return secret.includes(':') ? [...forms, Buffer.from(secret).toString('base64')] : forms
}

/** Values of variables that are secrets, and passwords of URLs among them. */
export function secretsIn(environment: Readonly<Record<string, string | undefined>>): string[] {
  return [...new Set(listSecrets(environment).map(({ secret }) => secret))]
}

function listSecrets(environment: Readonly<Record<string, string | undefined>>): { name: string; secret: string }[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    if (typeof value !== 'string') return []
    const isSecret = isSecretName(name) && !HARMLESS_VARIABLES.has(name)
    // Files of secrets end with a newline, which their readers leave out.
    const secrets = isSecret ? [value.trim(), ...passwordsOf(value)] : passwordsOf(value)
    return secrets.filter(({ length }) => length >= MIN_CHARS).map((secret) => ({ name, secret }))
  })
}

/** Returns the password of a URL, as written and decoded: drivers name it without its URL. */
function passwordsOf(value: string): string[] {
  // By hand: a URL with several hosts is none to `URL`.
  const [, password] = /:\/\/[^\s/?#:]*:([^\s/?#]+)@/.exec(value) ?? []
  return password === undefined ? [] : [password, decodeUri(password)]
}

// Each pattern reads a text in linear time: what it begins with cannot stand within its own repetition. Repetitions are bounded:
// a text of megabytes would use up the stack of the engine. A word also begins after a letter that ends an escape of JSON: `\nsk-`.
const USER_INFORMATION = /:\/\/[^\s/?#"'\\<>]{1,4096}@/g
const BEARER = /(?<!(?<!\\)\w)(bearer) (?=[\w.~+/=-]{0,4096}\d|[\w.~+/=-]{20})[\w.~+/=-]{8,4096}/gi
const BASIC = /(?<!(?<!\\)\w)(basic) ([A-Za-z\d+/]{4,4096}={0,2})/gi
/** An address without its query, or the query of one. */
const QUERY = /[^\s"'\\?#]{1,8192}/g
const KEY_FORMATS = new RegExp(
  `(?<!(?<!\\\\)[\\w-])(?:${[
    'sk-[\\w-]{20,4096}',
    '[rs]k_(?:live|test)_\\w{16,4096}',
    'gh[oprsu]_\\w{20,4096}',
    'github_pat_\\w{20,4096}',
    'glpat-[\\w-]{16,4096}',
    'xox[a-z]-[\\w-]{10,4096}',
    'A(?:KIA|SIA)[A-Z\\d]{16}',
    'AIza[\\w-]{30,4096}',
    'hf_\\w{20,4096}',
    'npm_\\w{30,4096}',
    'eyJ[\\w-]{10,4096}\\.eyJ[\\w-]{10,4096}\\.[\\w-]{1,4096}',
  ].join('|')})`,
  'g',
)
/** Ends with its text of JSON, or the list of its lines, also without the end of a key. */
const PRIVATE_KEY =
  /-----BEGIN ([A-Z ]{0,30}PRIVATE KEY)-----(?:[^-"\\]|\\.|-(?!-{4}END)|"\s{0,99}(?:[,+]\s{0,99})?"(?!(?:[^"\\]|\\.){0,4096}":)){0,16384}/gs
/** `--api-key value`, `--api-key=value`, `"--api-key","value"`, `?api_key=value`. A word alone is prose. */
const NAMED = /((?<!(?<!\\)[\w-])--?|[?&])([A-Za-z][\w-]{0,63})(=| |\\?", ?\\?")(?!-)([^\s"'\\&]{4,4096})/g

const FLAG_BEGINS = /(?:^|[\s"nrt])-/

/**
 * Every traced event comes through here: a search for a few characters costs a tenth of a pattern. (A text that begins with a character
 * that JSON is full of, such as `"-`, is quicker found by a pattern.)
 */
function redactFormats(text: string): string {
  let shown = text.replace(BEARER, `$1 ${REDACTED}`).replace(KEY_FORMATS, REDACTED)
  if (shown.includes('asic ')) shown = shown.replace(BASIC, hideBasic)
  if (shown.includes('code=') && shown.includes('state=')) shown = shown.replace(QUERY, hideCode)
  if (shown.includes('@')) shown = shown.replace(USER_INFORMATION, `://${REDACTED}@`)
  if (shown.includes('-----BEGIN')) shown = shown.replace(PRIVATE_KEY, `-----BEGIN $1-----${REDACTED}`)
  if (shown.includes('=') || FLAG_BEGINS.test(shown)) shown = shown.replace(NAMED, hideNamed)
  return shown
}

/** `Basic access` is prose: what it names would be no pair of a user and a password. */
function hideBasic(match: string, scheme: string, encoded: string): string {
  const isPair = /^[^\p{Cc}:\ufffd]*:[^\p{Cc}\ufffd]*$/u.test(Buffer.from(encoded, 'base64').toString())
  return isPair ? `${scheme} ${REDACTED}` : match
}

/** The answer of an authorization server (RFC 6749, 4.1.2) has both: a code alone may be anything. */
function hideCode(query: string): string {
  return /(?:^|&)state=/.test(query) ? query.replace(/(^|&)code=[^&]*/g, `$1code=${REDACTED}`) : query
}

function hideNamed(match: string, sign: string, name: string, separator: string, value: string): string {
  const isProse = separator === ' ' && !/\d|.{20}/.test(value)
  return isSecretName(name) && !isProse ? `${sign}${name}${separator}${REDACTED}` : match
}

/**
 * Returns JSON without secrets that is still valid JSON: a secret may be part of a number, and a pattern may match beyond the string that
 * it begins in.
 */
export function hideSecrets(json: string, hide: Redact): string {
  const hidden = hide(json)
  if (hidden === json) return json
  return parseJson(hidden) === undefined ? JSON.stringify(hideWithin(JSON.parse(json), hide)) : hidden
}

function hideWithin(value: unknown, hide: Redact): unknown {
  if (typeof value === 'string') return hide(value)
  if (typeof value === 'number') {
    const hidden = hide(String(value))
    return hidden === String(value) ? value : hidden
  }
  if (Array.isArray(value)) return value.map((item) => hideWithin(item, hide))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [hide(name), hideWithin(inner, hide)]))
}
