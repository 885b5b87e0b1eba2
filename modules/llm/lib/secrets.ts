/** Shorter values would stand in texts by chance. */
const MIN_CHARS = 8
const SECRET_NAME = /(^|_)(api_?keys?|keys?|tokens?|secrets?|passw(or)?ds?|credentials?)($|_)/i

/** Takes out of a text, JSON too, the values of variables whose names speak of a key, token, secret, password or credential. */
export function hidesSecrets(environment: Readonly<Record<string, string | undefined>>): (text: string) => string {
  const values = Object.entries(environment)
    .flatMap(([name, value = '']) =>
      value.length >= MIN_CHARS && SECRET_NAME.test(name) ? [value, JSON.stringify(value).slice(1, -1)] : [],
    )
    // The longest first: one secret may begin with another.
    .sort((a, b) => b.length - a.length)
  return (text) => values.reduce((hidden, value) => hidden.replaceAll(value, '[redacted]'), text)
}
