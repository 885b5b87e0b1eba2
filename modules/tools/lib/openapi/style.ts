import { isObject } from 'agent-host'

/** Rules by which a parameter writes its value (OpenAPI 3.1, section 4.8.12.2). */
export interface ParameterStyle {
  readonly name: string
  readonly style: string
  readonly explode: boolean
  readonly allowReserved?: boolean
}

/** Reads the rules that a document has for a value. */
export function readStyle({ style, explode, allowReserved }: Readonly<Record<string, unknown>>, defaultStyle: string) {
  const chosen = typeof style === 'string' ? style : defaultStyle
  return {
    style: chosen,
    explode: typeof explode === 'boolean' ? explode : chosen === 'form',
    allowReserved: allowReserved === true,
  }
}

type Encode = (text: string) => string

/** Models may write half a surrogate pair, which has no bytes: it becomes U+FFFD. */
function encodePart(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString())
}

/** Reserved characters that a query may hold as they are, but for those that begin or end a pair, or stand for a space. */
const RESERVED = /%(3A|2F|3F|40|21|24|27|28|29|2A|2C|3B|3D)/g

/** Pieces of a query or a form: `a=1`, encoded. */
export function toPairs(value: unknown, { name, style, explode, allowReserved = false }: ParameterStyle): string[] {
  const encode: Encode = (text) => {
    const encoded = encodePart(text)
    return allowReserved ? encoded.replace(RESERVED, (escape) => decodeURIComponent(escape)) : encoded
  }
  const key = encode(name)
  if (Array.isArray(value)) {
    const items = value.map((item) => encode(serialize(item)))
    if (explode && style === 'form') return items.map((item) => `${key}=${item}`)
    return [`${key}=${items.join(DELIMITERS[style] ?? ',')}`]
  }
  if (!isObject(value)) return [`${key}=${encode(serialize(value))}`]
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  if (style === 'deepObject') return entries.flatMap(([field, item]) => deepPairs(`${name}[${field}]`, item, encode))
  const encoded = entries.map(([field, item]) => [encode(field), encode(serialize(item))] as const)
  if (explode) return encoded.map((pair) => pair.join('='))
  return [`${key}=${encoded.flat().join(DELIMITERS[style] ?? ',')}`]
}

const DELIMITERS: Readonly<Record<string, string>> = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C' }

function deepPairs(name: string, value: unknown, encode: Encode): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => deepPairs(name, item, encode))
  if (isObject(value)) return Object.entries(value).flatMap(([key, item]) => deepPairs(`${name}[${key}]`, item, encode))
  return [`${encode(name)}=${encode(serialize(value))}`]
}

/** Part of a path: styles simple, label and matrix. */
export function toPathPart(value: unknown, { name, style, explode }: ParameterStyle): string {
  const encode = encodePart
  if (style === 'matrix') {
    const named = (key: string, text: string) => (text === '' ? `;${key}` : `;${key}=${text}`)
    if (explode && Array.isArray(value)) return value.map((item) => named(name, encode(serialize(item)))).join('')
    if (explode && isObject(value)) {
      return Object.entries(value)
        .map(([key, item]) => named(encode(key), encode(serialize(item))))
        .join('')
    }
    return named(name, joined(value, explode, ',', encode))
  }
  return style === 'label'
    ? `.${joined(value, explode, explode ? '.' : ',', encode)}`
    : joined(value, explode, ',', encode)
}

/** Value of a header: style simple. */
export function toHeader(value: unknown, { explode }: ParameterStyle): string {
  return joined(value, explode, ',', (text) => text)
}

function joined(value: unknown, explode: boolean, delimiter: string, encode: Encode): string {
  if (Array.isArray(value)) return value.map((item) => encode(serialize(item))).join(delimiter)
  if (isObject(value)) return pairsOf(value, encode, explode ? '=' : ',').join(delimiter)
  return encode(serialize(value))
}

function pairsOf(value: Readonly<Record<string, unknown>>, encode: Encode, sign: string): string[] {
  return Object.entries(value).map(([key, item]) => `${encode(key)}${sign}${encode(serialize(item))}`)
}

/** A plain value as text, anything else as JSON. */
export function serialize(value: unknown): string {
  if (value == null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
