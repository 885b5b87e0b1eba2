/** Values under names, none of them checked yet. */
export type Fields = Readonly<Record<string, unknown>>

/** Recognizes a JSON object: neither an array nor null. */
export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Tells whether a text is JSON. */
export function isJsonText(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Returns the fields of a value, to be read one by one: none for anything but an object. */
export function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : NONE
}

/** An object's or a list's own value under a key; undefined where there is none. */
export function ownValue(parent: unknown, key: string | number): unknown {
  const isThere = typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key)
  return isThere ? Reflect.get(parent, key) : undefined
}

const NONE: Fields = Object.freeze({})
