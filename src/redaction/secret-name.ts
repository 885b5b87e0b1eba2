/** Returns true for the name of a secret (`OPENAI_API_KEY`, `accessToken`). */
export function isSecretName(name: string): boolean {
  // Every field of every traced event comes through here: most names are refused by this one search.
  return MAYBE_SECRET.test(name) && !NOT_SECRET.has(name) && wordsOf(name).some((word) => SECRET_WORDS.has(word))
}

const SECRET_WORDS = new Set(
  (
    'key keys apikey token tokens secret secrets password passwords passwd pgpassword pass pwd passphrase pat ' +
    'credential credentials authorization cookie cookies dsn'
  ).split(' '),
)

/** Options of the library that name a key of something, and hold none. */
const NOT_SECRET = new Set(['metadata_key'])

const MAYBE_SECRET = /key|token|secret|pass|pwd|pat|credential|authorization|cookie|dsn/i

function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
}
