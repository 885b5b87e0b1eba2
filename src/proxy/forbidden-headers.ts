/** Headers that say where a message ends, how it travels and whom it is for: only what sends the message may set them (RFC 9110, section 7; RFC 9112, section 6). */
const OF_THE_MESSAGE = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** The others that scripts may not set (Fetch Standard, section 2.2.2, "forbidden request-header"), and those that turn a method into another one. */
const OF_THE_CLIENT = [
  ...[
    'accept-charset',
    'accept-encoding',
    'cookie',
    'cookie2',
    'date',
    'dnt',
    'origin',
    'referer',
    'set-cookie',
    'via',
  ],
  ...['x-http-method', 'x-http-method-override', 'x-method-override'],
]

/** Name of a header (RFC 9110, section 5.1). */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/

/**
 * Tells whether a model may not set a header, whatever a document says.
 *
 * @example
 * ```ts
 * export function settableOf(names: readonly string[]): string[] {
 *   return names.filter((name) => !isForbiddenHeader(name))
 * }
 * ```
 */
export function isForbiddenHeader(rawName: string): boolean {
  const name = rawName.toLowerCase()
  if (!TOKEN.test(name)) return true
  if (OF_THE_MESSAGE.includes(name) || OF_THE_CLIENT.includes(name)) return true
  return /^(proxy|sec|access-control-request)-/.test(name)
}

/**
 * @throws Error that names a header which would make another message of a request, or cannot be sent at all
 *
 * @example
 * ```ts
 * export function checkConfigured(headers: Record<string, string>): void {
 *   checkHeaders(Object.keys(headers), 'config.headers')
 * }
 * ```
 */
export function checkHeaders(names: Iterable<string>, place: string): void {
  for (const name of names) {
    if (!TOKEN.test(name)) throw new Error(`${place}: ${JSON.stringify(name)} is not the name of a header.`)
    if (!OF_THE_MESSAGE.includes(name.toLowerCase())) continue
    throw new Error(`${place}: the header '${name}' is set by HTTP itself. Leave it out.`)
  }
}
