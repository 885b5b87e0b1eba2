import { randomUUID } from 'node:crypto'
import { Transform, type TransformCallback } from 'node:stream'
import { DecodedUrl } from '../../data-url.ts'
import { badRequest } from '../../errors.ts'
import { Base64Run, endOfBase64 } from './base64-run.ts'

/** End of what stands before the bytes of a data URL. */
const PREFIX = Buffer.from(';base64,')
/** Bytes that stay in the text when they are fewer. */
const MIN_BYTES = 48 * 1024
const MIN_LENGTH = (MIN_BYTES / 3) * 4
const DATA_URL_HEAD = /^data:[^,]*,$/
const NOTHING = Buffer.alloc(0)
/** Fields that hold an address, in both client protocols. */
const URL_FIELDS: ReadonlySet<string> = new Set(['url', 'image_url', 'file_data'])
/** Fields of a body that hold what a user said. */
const CONTENT_FIELDS: ReadonlySet<string> = new Set(['messages', 'input'])

/** Limits of a body. */
export interface BodySize {
  /** Bytes, where the client says so. */
  readonly length: number | undefined
  readonly maxBytes: number
}

/**
 * Takes the bytes of large data URLs out of a JSON body while it arrives, and leaves a name in their place: a picture is never in
 * memory as a body, as a text and as a value. After the text is parsed, {@link DataUrlLift.restore} puts them back.
 */
export class DataUrlLift extends Transform {
  /** Number of bytes that have arrived. Fastify compares it with the limit and with the header. */
  receivedEncodedLength = 0
  readonly #size: BodySize
  readonly #lifted: Base64Run[] = []
  /** No client can know it. */
  readonly #mark = `lifted-${randomUUID()}-`
  /** For runs that may be short: a body may have a million of them. */
  readonly #scratch = Buffer.allocUnsafeSlow(MIN_BYTES)
  #run: Base64Run | undefined
  /** End of the text so far, in which a prefix may begin. */
  #tail: Buffer = NOTHING

  constructor(size: BodySize) {
    super()
    this.#size = size
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.receivedEncodedLength += chunk.length
    // The reader refuses the body, and has to see that it is too large.
    if (this.receivedEncodedLength > this.#size.maxBytes) this.push(chunk)
    else this.#read(chunk)
    done()
  }

  override _flush(done: TransformCallback): void {
    if (this.#run) this.#endRun(this.#run)
    this.push(this.#tail)
    done()
  }

  /**
   * Puts the bytes back into the parsed body, in place: as {@link DecodedUrl} where an address is expected, elsewhere as text.
   *
   * @throws HostError `REQUEST_INVALID` for a key that holds bytes
   */
  restore(body: unknown): unknown {
    if (this.#lifted.length === 0 || typeof body !== 'object' || body === null) return body
    return this.#restoreFields(body, (key) => CONTENT_FIELDS.has(key))
  }

  #read(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0) rest = this.#run ? this.#readRun(this.#run, rest) : this.#readText(rest)
  }

  #readText(chunk: Buffer): Buffer {
    const text = this.#tail.length === 0 ? chunk : Buffer.concat([this.#tail, chunk])
    const start = findRun(text)
    const end = start ?? Math.max(text.length - PREFIX.length + 1, 0)
    this.push(text.subarray(0, end))
    if (start === undefined) {
      this.#tail = text.subarray(end)
      return NOTHING
    }
    this.#tail = NOTHING
    this.#run = new Base64Run(this.#scratch)
    return text.subarray(end)
  }

  #readRun(run: Base64Run, chunk: Buffer): Buffer {
    const end = endOfBase64(chunk, 0)
    const { length } = this.#size
    run.add(chunk, 0, end, length === undefined ? undefined : Math.max(length - this.receivedEncodedLength, 0))
    if (end < chunk.length) this.#endRun(run)
    return chunk.subarray(end)
  }

  #endRun(run: Base64Run): void {
    this.#run = undefined
    if (run.length < MIN_BYTES) this.push(run.encode() + run.rest)
    else this.push(`${this.#mark}${this.#lifted.push(run) - 1}.${run.rest}`)
  }

  #restore(value: unknown, field: string, isContent: boolean): unknown {
    if (typeof value === 'string') return this.#restoreText(value, isContent && URL_FIELDS.has(field))
    if (typeof value !== 'object' || value === null) return value
    return this.#restoreFields(value, () => isContent)
  }

  #restoreFields(value: object, isContent: (key: string) => boolean): unknown {
    if (Array.isArray(value)) return this.#restoreItems(value, isContent(''))
    const fields = value as Record<string, unknown>
    for (const key of Object.keys(fields)) {
      if (key.includes(this.#mark)) throw badRequest('A key of the body is too long')
      fields[key] = this.#restore(fields[key], key, isContent(key))
    }
    return value
  }

  /** Without a key for each item: a body may have a list of millions of numbers. */
  #restoreItems(items: unknown[], isContent: boolean): unknown {
    for (let index = 0; index < items.length; index++) items[index] = this.#restore(items[index], '', isContent)
    return items
  }

  #restoreText(text: string, isUrl: boolean): string | DecodedUrl {
    if (!text.includes(this.#mark)) return text
    const name = new RegExp(`${this.#mark}(\\d+)\\.`, 'g')
    const [head = '', index, rest = ''] = text.split(name, 3)
    const data = isUrl && DATA_URL_HEAD.test(head) ? this.#lifted[Number(index)]?.end(rest) : undefined
    if (data) return new DecodedUrl(head, data)
    return text.replace(name, (_name, place: string) => this.#lifted[Number(place)]?.encode() ?? '')
  }
}

/** Returns the start of the first run of base64 that is long, or goes on after this text. */
function findRun(text: Buffer): number | undefined {
  for (let from = 0; ; ) {
    const found = text.indexOf(PREFIX, from)
    if (found === -1) return undefined
    const start = found + PREFIX.length
    from = endOfBase64(text, start)
    if (from === text.length || from - start >= MIN_LENGTH) return start
  }
}
