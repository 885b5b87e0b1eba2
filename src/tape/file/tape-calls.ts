import { messageOf } from '../../errors.ts'
import type { Redact } from '../../trace/redact.ts'
import { hideSecrets, hideSecretsInCalls } from './hide-secrets.ts'
import type { BytesLine, CallLine, OutcomeLine, PartLine, TapeLine } from './tape-lines.ts'
import { decodeValue, encodeValue, type JsonValue } from './tape-values.ts'

/** Call of a method that streams, as its lines on a tape tell it. */
export interface TapeCall {
  /** Id of the module. */
  readonly module: string
  readonly protocol: string
  readonly method: string
  /** Without the run, as {@link encodeTapeValue} writes them. */
  readonly arguments: readonly JsonValue[]
  /** Parts of the stream, with the milliseconds after which they came. */
  readonly parts: readonly { readonly ms: number; readonly value: unknown }[]
}

/** A call that was read from lines. */
export interface ReadTapeCall extends TapeCall {
  /** Number of the call, from 1 on; unique within its run. */
  readonly call: number
  /** Its lines as they were, without their newlines. */
  readonly lines: readonly string[]
}

/** Returns a value as tapes have it: bytes by their SHA-256, and what JSON has no form for as an object with one name that begins with `$`. */
export function encodeTapeValue(value: unknown, hide: Redact): JsonValue {
  return JSON.parse(hideSecrets(JSON.stringify(encodeValue(value, () => {})), hide)) as JsonValue
}

/** Returns the lines of a tape that tell of a call, without their newlines. */
export function writeTapeCall(
  call: number,
  { module, protocol, method, arguments: args, parts }: TapeCall,
  hide: Redact,
): string[] {
  const begin: CallLine = {
    type: 'call',
    call,
    within: null,
    ms: 0,
    module,
    caller: '',
    protocol,
    method,
    arguments: args,
  }
  const told = parts.map(({ ms, value }): PartLine => ({ type: 'part', call, ms, value: encodeValue(value, () => {}) }))
  const end: OutcomeLine = { type: 'result', call, ms: parts.at(-1)?.ms ?? 0, shape: 'stream', value: null }
  const lines = [begin, ...told, end].map((line) => JSON.stringify(line))
  return hideSecretsInCalls(lines, hide)
}

/**
 * Reads the calls of lines that ended, in the order of their beginnings: lines of their own, or those of whole tapes.
 *
 * @param lines empty ones are left out
 * @param name how errors call the file; they add the number of the line
 * @throws Error for what is no line of a tape
 */
export function readTapeCalls(lines: readonly string[], name: string): ReadTapeCall[] {
  const reader = new CallReader(name)
  for (const [index, line] of lines.entries()) if (line.trim() !== '') reader.read(line, index + 1)
  return reader.calls
}

interface OpenCall {
  readonly begin: CallLine
  readonly parts: { ms: number; value: unknown }[]
  readonly lines: string[]
  hasEnded: boolean
}

class CallReader {
  readonly #name: string
  readonly #begun: OpenCall[] = []
  readonly #kept = new Map<string, BytesLine>()
  /** By number, in the run that is read. */
  #open = new Map<number, OpenCall>()

  constructor(name: string) {
    this.#name = name
  }

  get calls(): ReadTapeCall[] {
    const ended = this.#begun.filter(({ hasEnded }) => hasEnded)
    return ended.map(({ begin, parts, lines }) => {
      const { call, module, protocol, method, arguments: args } = begin
      return { call, module, protocol, method, arguments: args, parts, lines }
    })
  }

  read(text: string, number: number): void {
    const line = this.#parse(text, number)
    if (line.type === 'head') this.#open = new Map()
    else if (line.type === 'bytes') this.#kept.set(line.sha256, line)
    else if (line.type === 'call') {
      const begun: OpenCall = { begin: line, parts: [], lines: [text], hasEnded: false }
      this.#begun.push(begun)
      this.#open.set(line.call, begun)
    } else if (line.type === 'part' || line.type === 'effect' || line.type === 'result') {
      const open = this.#open.get(line.call)
      if (!open) throw new Error(`${this.#name}:${number} does not fit: there is no call ${line.call} before it.`)
      open.lines.push(text)
      if (line.type === 'part') open.parts.push({ ms: line.ms, value: this.#decode(line.value, number) })
      if (line.type === 'result') open.hasEnded = line.error === undefined
    }
  }

  #parse(text: string, number: number): TapeLine {
    try {
      const line = JSON.parse(text) as TapeLine | null
      if (typeof line?.type === 'string') return line
    } catch (cause) {
      throw new Error(`${this.#name}:${number} is no JSON: ${messageOf(cause)}`, { cause })
    }
    throw new Error(`${this.#name}:${number} is no line of a tape.`)
  }

  #decode(value: JsonValue, number: number): unknown {
    return decodeValue(value, (sha256) => {
      const bytes = this.#kept.get(sha256)
      if (!bytes) throw new Error(`${this.#name}:${number} names bytes that are not there: ${sha256}.`)
      return Buffer.from(bytes.base64, 'base64')
    })
  }
}
