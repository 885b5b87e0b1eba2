import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import secureJson from 'secure-json-parse'
import { badRequest, type HostError, messageOf } from '../../errors.ts'
import { MAX_LEVELS } from '../../json.ts'
import { formatPath } from '../../wire/format-path.ts'
import { invalidField } from './invalid-field.ts'

/**
 * Accepts JSON bodies only. Fastify's parser for `text/plain` goes: such a request needs no preflight, so any page could
 * send it. An empty body is undefined: clients send it, typed as JSON, with DELETE.
 */
export function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addHook('preParsing', ({ headers }, _reply, payload, done) => done(findEncodingProblem(headers), payload))
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (_request, text, done) => {
    if (text.trim() === '') return done(null, undefined)
    try {
      done(null, parseJson(text))
    } catch (error) {
      done(invalidJson('body', error))
    }
  })
}

/** JSON between systems is UTF-8 (RFC 8259, section 8.1); read as that, other characters would be others. */
function findEncodingProblem({
  'content-type': type = '',
  'content-encoding': coding,
}: IncomingHttpHeaders): Error | null {
  const charset = type === 'application/json' ? undefined : /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(type)?.[1]
  if ((charset === undefined || /^utf-?8$/i.test(charset)) && (coding === undefined || coding === 'identity'))
    return null
  return Object.assign(new Error('The body must be uncompressed UTF-8'), { statusCode: 415 })
}

/** Problem of a text that {@link parseJson} refuses. */
export function invalidJson(what: 'body' | 'message', error: unknown): HostError {
  const isRefused = error instanceof RefusedJson
  const problem = `${isRefused ? 'cannot be accepted' : 'is not valid JSON'}: ${messageOf(error)}`
  return badRequest(`The ${what} ${problem}`, { field: isRefused ? error.field : undefined })
}

/**
 * Value of a field that holds JSON as text; undefined where it is none.
 *
 * @throws HostError `REQUEST_INVALID` for what a body may not have either
 */
export function parseField(text: string, field: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof RefusedJson) throw invalidField(field, `cannot be accepted: ${error.message}`)
    return undefined
  }
}

/** JSON that is not accepted, valid or not. */
class RefusedJson extends Error {
  /** Path of the value, to its first levels. */
  readonly field: string | undefined

  constructor(message: string, field?: string) {
    super(message)
    this.field = field
  }
}

/** @throws Error also for bodies that are nested too deep, or have keys that change prototypes (`__proto__`) */
export function parseJson(text: string): unknown {
  const deep = findDeeper(MAX_LEVELS, text)
  if (deep !== -1) throw new RefusedJson(`it is nested deeper than ${MAX_LEVELS} levels`, pathAt(text, deep))
  const value = JSON.parse(text)
  if (mayChangePrototypes(text) && secureJson.scan(Object(value), { safe: true }) === null)
    throw new RefusedJson("it has a key that would change prototypes, '__proto__' or 'constructor'")
  return value
}

/** Tells bodies apart that need the slow look: those with such a key, or with an escape that may hide one. */
function mayChangePrototypes(text: string): boolean {
  return text.includes('__proto__"') || text.includes('constructor"') || text.includes('\\u')
}

/** Counts brackets outside of strings. Returns the place of the first that is too deep; -1 if there is none. */
function findDeeper(maxDepth: number, text: string): number {
  if (!hasMoreBrackets(maxDepth, text)) return -1
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) index = endOfString(text, index)
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++depth > maxDepth) return index
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--
  }
  return -1
}

/** Number of levels that name a deep value: `tools[0].parameters`. */
const NAMED_LEVELS = 3

/** Path of a place in a JSON text, to its first levels; undefined where the text is no JSON object. */
function pathAt(text: string, end: number): string | undefined {
  const path: (string | number)[] = []
  let said = ''
  for (let index = 0; index < end; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) {
      const close = endOfString(text, index)
      said = text.slice(index + 1, close)
      index = close
    } else if (code === OPEN_ARRAY) path.push(0)
    else if (code === OPEN_OBJECT) path.push('')
    else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) path.pop()
    else if (code === COLON) path[path.length - 1] = said
    else if (code === COMMA && typeof path.at(-1) === 'number') path[path.length - 1] = Number(path.at(-1)) + 1
  }
  const named = path.slice(0, NAMED_LEVELS)
  return typeof named[0] === 'string' ? formatPath(named) : undefined
}

/** Spares most texts the look at each character: they have too few brackets, strings included. */
function hasMoreBrackets(count: number, text: string): boolean {
  let left = count
  for (const bracket of BRACKETS) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) if (--left < 0) return true
  }
  return false
}

const BRACKETS = ['{', '[']
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

function isEscaped(text: string, index: number): boolean {
  let backslashes = 0
  while (text.charCodeAt(index - 1 - backslashes) === BACKSLASH) backslashes++
  return backslashes % 2 === 1
}
