/** Values under names, none of them checked yet. */
export type Fields = Readonly<Record<string, unknown>>

/**
 * Recognizes a JSON object: neither an array nor null.
 *
 * @example
 * ```ts
 * export function toRows(value: unknown): object[] {
 *   return Array.isArray(value) ? value.filter(isObject) : []
 * }
 * ```
 */
export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns the value of a text that is JSON; undefined for any other text.
 *
 * @example
 * ```ts
 * export function readPrice(text: string): number | undefined {
 *   const { price } = fieldsOf(parseJson(text))
 *   return typeof price === 'number' ? price : undefined
 * }
 * ```
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Returns a value as JSON with the names of objects in alphabetical order: two values that differ in that order alone have one text.
 *
 * @example
 * ```ts
 * export function isSameCall(one: unknown, other: unknown): boolean {
 *   return toSortedJson(one) === toSortedJson(other)
 * }
 * ```
 */
export function toSortedJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  )
}

/**
 * Returns the fields of a value, to be read one by one: none for anything but an object.
 *
 * @example
 * ```ts
 * export function errorIn(reply: unknown): string | undefined {
 *   const { message } = fieldsOf(fieldsOf(reply).error)
 *   return typeof message === 'string' ? message : undefined
 * }
 * ```
 */
export function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : NONE
}

/** Returns the fields of an object, each with a value made of its own. */
export function mapFields<T, R>(
  fields: Readonly<Record<string, T>>,
  map: (value: T, name: string) => R,
): Record<string, R> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, map(value, name)]))
}

/** An object's or a list's own value under a key; undefined where there is none. */
export function ownValue(parent: unknown, key: string | number): unknown {
  const isThere = typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key)
  return isThere ? Reflect.get(parent, key) : undefined
}

const NONE: Fields = Object.freeze({})

/** Maximum length of a page of a list in JSON; its first entry may be longer. */
export const MAX_PAGE_LENGTH = 10 * 1024 * 1024

/** Maximum number of levels of lists and objects in JSON of others. Deeper JSON can be parsed, but then breaks JSON.stringify. */
export const MAX_LEVELS = 100

/**
 * Tells whether lists and objects of a value are nested deeper than this: code that calls itself for each level may fail. A circular value
 * always is. Bytes have no levels.
 *
 * @example
 * ```ts
 * export function refuseDeep(reply: unknown): void {
 *   if (isDeeper(reply, 100)) throw new Error('The reply is nested deeper than 100 levels.')
 * }
 * ```
 */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  return levels === 0 || Object.values(value).some((child) => isDeeper(child, levels - 1))
}

/** Returns what is left of a length after the texts of a value, without making its JSON; negative as soon as it is too much. */
export function spendLength(value: unknown, left: number): number {
  if (typeof value === 'string') return left - value.length
  if (typeof value !== 'object' || value === null) return left
  let rest = left
  for (const field of Array.isArray(value) ? value : Object.values(value)) {
    rest = spendLength(field, rest - 1)
    if (rest < 0) break
  }
  return rest
}

/** Returns the length of all texts of a value. */
export function lengthOfTexts(value: unknown): number {
  return Number.MAX_SAFE_INTEGER - spendLength(value, Number.MAX_SAFE_INTEGER)
}
