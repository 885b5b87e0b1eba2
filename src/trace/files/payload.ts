import { isReference } from '../../definition/interpolate.ts'
import { messageOf } from '../../errors.ts'
import { fieldsOf } from '../../json.ts'
import type { Redact } from '../../redaction/redact.ts'
import { REDACTED } from '../../redaction/redacted.ts'
import { isSecretName } from '../../redaction/secret-name.ts'

/** Longer texts are cut. Characters. */
const MAX_TEXT = 10_000
/** Longer lists keep their beginning and their end: that is where usage and the last words stand. */
const MAX_ITEMS = 1000
const ITEMS_AT_END = 100
const MAX_DEPTH = 20
/** Maximum size of one payload, in characters: those of its JSON, where no character is escaped. */
const MAX_CHARS = 200_000
/** Characters of JSON around a text, with the comma after it; as many are around a name, or are an empty list. */
const AROUND = 3
/** Characters of `false`, the longest word of JSON, with the comma after it. */
const WORD = 6
/** Pictures of one payload that are kept whole. Bytes, all together. */
const MAX_PICTURE_BYTES = 128 * 1024
/** Media types that the page of the debug UI shows. */
const PICTURE = /^image\/(?:png|jpeg|gif|webp)$/
/** Maximum length of a secret. Text is searched this far beyond a cut, since half a secret would not be recognised. */
const MAX_SECRET = 4096

/**
 * Any value as JSON at this moment: without values that cannot be serialized (functions, cycles), without the texts of
 * fields whose names speak of a secret, and with long values truncated, followed by their length. Never throws.
 */
export function writePayload(value: unknown, redact: Redact): string {
  if (typeof value === 'string' && value.length <= MAX_TEXT) return JSON.stringify(value)
  return JSON.stringify(new Copy(redact).of(value)) ?? 'null'
}

class Copy {
  readonly #redact: Redact
  readonly #above = new Set<object>()
  #room = MAX_CHARS
  #pictureRoom = MAX_PICTURE_BYTES

  constructor(redact: Redact) {
    this.#redact = redact
  }

  /** @param secret whether a name above speaks of a secret: then no text below is shown */
  of(value: unknown, secret = false): unknown {
    switch (typeof value) {
      case 'string':
        return this.#text(secret && !isReference(value) ? REDACTED : value)
      case 'number':
        return this.#number(value)
      case 'bigint':
        return this.#text(String(value))
      case 'function':
        return this.#text(`[function ${value.name}]`)
      case 'symbol':
        return this.#text(String(value))
      case 'object':
        if (value !== null) return this.#object(value, secret)
    }
    this.#room -= WORD
    return value
  }

  #number(value: number): number | string {
    const text = String(value)
    this.#room -= text.length + 1
    return Number.isFinite(value) ? value : text
  }

  #text(text: string): string {
    this.#room -= AROUND
    if (text.length > MAX_TEXT || text.length > this.#room) {
      const room = Math.min(MAX_TEXT, Math.max(this.#room, 0))
      this.#room -= room
      const read = text.slice(0, room + MAX_SECRET)
      const shown = this.#redact(read)
      // Redaction has shortened the text, so that its end, which may be half a secret, could be shown.
      const end = read === text ? room : Math.min(room, Math.max(0, shown.length - MAX_SECRET))
      return `${shown.slice(0, end)}… [cut: ${text.length} characters]`
    }
    this.#room -= text.length
    return text
  }

  #object(value: object, secret: boolean): unknown {
    if (this.#above.has(value)) return this.#text('[circular]')
    if (this.#above.size >= MAX_DEPTH) return this.#text('[too deep]')
    if (this.#room <= 0) return '[cut]'
    this.#room -= AROUND
    this.#above.add(value)
    try {
      return this.#fields(value, secret)
    } catch (error) {
      return this.#text(`[unreadable: ${messageOf(error)}]`)
    } finally {
      this.#above.delete(value)
    }
  }

  #fields(value: object, secret: boolean): unknown {
    if (Array.isArray(value)) return this.#items(value, secret)
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return this.#text(`[${value.byteLength} bytes]`)
    if (value instanceof Error) return this.of({ name: value.name, message: value.message }, secret)
    if (value instanceof Set) return this.#items([...value], secret)
    if (value instanceof Map) return this.of(Object.fromEntries(value), secret)
    const { toJSON } = fieldsOf(value)
    if (typeof toJSON === 'function') return this.of(toJSON.call(value), secret)
    const copy: Record<string, unknown> = {}
    const picture = this.#picture(value)
    for (const name of Object.keys(value)) {
      this.#room -= name.length + AROUND
      if (this.#room <= 0) {
        copy['…'] = '[cut]'
        break
      }
      copy[name] = name === 'data' && picture !== undefined ? picture : this.#field(value, name, secret)
    }
    return copy
  }

  /** Data URL of an attachment that is a small picture: it is seen, where its bytes are only counted. */
  #picture(value: { readonly mediaType?: unknown; readonly data?: unknown }): string | undefined {
    const { mediaType, data } = value
    if (!(data instanceof Uint8Array) || typeof mediaType !== 'string' || !PICTURE.test(mediaType)) return undefined
    if (data.byteLength > this.#pictureRoom) return undefined
    this.#pictureRoom -= data.byteLength
    return `data:${mediaType};base64,${Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')}`
  }

  #field(value: object, name: string, secret: boolean): unknown {
    try {
      return this.of(fieldsOf(value)[name], secret || isSecretName(name))
    } catch (error) {
      return this.#text(`[unreadable: ${messageOf(error)}]`)
    }
  }

  #items(items: readonly unknown[], secret: boolean): unknown[] {
    const cut = `… [cut: ${items.length} items]`
    if (items.length <= MAX_ITEMS) {
      const copy = this.#part(items, secret)
      return copy.length === items.length ? copy : [...copy, cut]
    }
    // The end is copied even when the beginning uses up its room.
    const kept = Math.min(MAX_TEXT, this.#room / 2)
    this.#room -= kept
    const head = this.#part(items.slice(0, MAX_ITEMS - ITEMS_AT_END), secret)
    this.#room = Math.max(this.#room, 0) + kept
    return [...head, cut, ...this.#part(items.slice(-ITEMS_AT_END), secret)]
  }

  /** Copies of as many items as there is room for. */
  #part(items: readonly unknown[], secret: boolean): unknown[] {
    const copy: unknown[] = []
    for (const item of items) {
      if (this.#room <= 0) break
      copy.push(this.of(item, secret))
    }
    return copy
  }
}
