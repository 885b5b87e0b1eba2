import { badRequest } from './errors.ts'
import { fieldsOf, isObject } from './json.ts'

/**
 * Says what is wrong with a value that a program or an adapter hands over, after its name: `.user must be a string.`; undefined when it
 * is right. Not compiled from a schema: runs of clients pass here, too.
 */
export type Given = (value: unknown) => string | undefined

function must(be: string, isRight: (value: unknown) => boolean): Given {
  const problem = ` must be ${be}.`
  return (value) => (isRight(value) ? undefined : problem)
}

/** Most values are of these: one function for all of them, because it is run by every request. */
function ofType(type: 'string' | 'boolean' | 'function', be: string): Given {
  const problem = ` must be ${be}.`
  return (value) => (typeof value === type ? undefined : problem)
}

export const TEXT = ofType('string', 'a string')
export const KEY = must('a string or a whole number', (value) => typeof value === 'string' || Number.isInteger(value))
export const FLAG = ofType('boolean', 'true or false')
export const FUNCTION = ofType('function', 'a function')
export const OBJECT = must('an object', isObject)
export const COUNT = must('a whole number, not negative', (value) => Number.isSafeInteger(value) && Number(value) >= 0)
export const NUMBER = must('a number, not negative', (value) => typeof value === 'number' && value >= 0)
export const SECONDS = must('a number above 0', (value) => Number.isFinite(value) && Number(value) > 0)
export const SIGNAL = must('an AbortSignal', (value) => isObject(value) && typeof value.addEventListener === 'function')
export const BYTES = must('bytes or a URL', (value) => value instanceof Uint8Array || value instanceof URL)
export const UINT8_ARRAY = must('a Uint8Array', (value) => value instanceof Uint8Array)
export const URL_OBJECT = must('a URL', (value) => value instanceof URL)
export const SET = must('a Set', (value) => value instanceof Set)
export const POSITIVE = must('a whole number above 0', (value) => Number.isSafeInteger(value) && Number(value) > 0)
export const JSON_VALUE = must('JSON', isJson)
export const JSON_OBJECT = must('an object of JSON', (value) => isObject(value) && isJson(value))
export const MILLISECONDS = must(
  'a number of milliseconds',
  (value) => typeof value === 'number' && value >= 0 && value < 2 ** 31,
)
export const ITERABLE = must('a list', (value) => typeof Object(value)[Symbol.iterator] === 'function')

export function matching(pattern: RegExp, be: string): Given {
  return must(be, (value) => typeof value === 'string' && pattern.test(value))
}

/** A name that becomes part of a key in the store, which half a surrogate pair cannot. */
export const TENANT = matching(/^\P{Surrogate}*$/u, 'a string without half a surrogate pair')

export function oneOf(...words: readonly string[]): Given {
  const known: ReadonlySet<unknown> = new Set(words)
  return must(`one of ${words.map((word) => `'${word}'`).join(', ')}`, (value) => known.has(value))
}

export function optional(given: Given): Given {
  return (value) => (value === undefined ? undefined : given(value))
}

export function list(of: Given): Given {
  return (value) => {
    if (!Array.isArray(value)) return ' must be a list.'
    for (let index = 0; index < value.length; index++) {
      const problem = of(value[index])
      if (problem !== undefined) return `[${index}]${problem}`
    }
    return undefined
  }
}

/** A map by ids, with at least one entry. */
export function mapOf(of: Given): Given {
  return (value) => {
    if (!(value instanceof Map)) return ' must be a Map.'
    if (value.size === 0) return ' must hold one.'
    for (const [key, each] of value) {
      const problem = typeof key === 'string' ? of(each) : ' must have a string as its key.'
      if (problem !== undefined) return `[${typeof key === 'string' ? key : '...'}]${problem}`
    }
    return undefined
  }
}

export function object(fields: Readonly<Record<string, Given>>): Given {
  const all = Object.entries(fields)
  return (value) => {
    if (!isObject(value)) return ' must be an object.'
    for (const [key, given] of all) {
      const problem = given(value[key])
      if (problem !== undefined) return `.${key}${problem}`
    }
    return undefined
  }
}

/** Returns the named fields alone, those that are set: what stands beside them was not checked, and has no effect. */
export function pick<T extends object>(value: T, fields: Readonly<Record<string, Given>>): T {
  const read = fieldsOf(value)
  return Object.fromEntries(
    Object.keys(fields).flatMap((key) => (read[key] === undefined ? [] : [[key, read[key]]])),
  ) as T
}

/**
 * @param name of the value
 * @throws HostError `REQUEST_INVALID` that names the field
 */
export function requireGiven(given: Given, value: unknown, name: string): void {
  const problem = findProblem(given, value)
  if (problem === undefined) return
  const message = `${name}${problem}`
  throw badRequest(message, { field: message.slice(0, message.indexOf(' must ')) })
}

/** Anything but a proxy that throws. */
export const READABLE: Given = (value) => void isObject(value)

/** A proxy may throw. */
function findProblem(given: Given, value: unknown): string | undefined {
  try {
    return given(value)
  } catch {
    return ' must be readable.'
  }
}

/** Tells whether a value can be stored. Parts that JSON leaves out, as functions in an object, are no fault. */
function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}
