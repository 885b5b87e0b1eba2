import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { promisify } from 'node:util'
import { constants, gunzip } from 'node:zlib'
import { decodeBase64 } from '../../base64.ts'
import { HostError, messageOf, systemCodeOf } from '../../errors.ts'
import { fieldsOf, isObject } from '../../json.ts'
import { readRegularFile } from '../../read-regular-file.ts'
import {
  type BytesLine,
  type CallLine,
  type EffectLine,
  type EndLine,
  type HeadLine,
  type OutcomeLine,
  type PartLine,
  TAPE_FORMAT,
  type TapeLine,
  type TurnLine,
} from './tape-lines.ts'
import type { FindBytes } from './tape-values.ts'

/** A tape that was read and checked. */
export interface Tape {
  /** As errors name it. */
  readonly name: string
  /** Oldest first: a run that waited, and those that continued it. At least one. */
  readonly runs: readonly TapedRun[]
}

/** One run of a tape. */
export interface TapedRun {
  readonly head: HeadLine
  readonly turn: TurnLine
  /** In the order of their beginnings. */
  readonly calls: readonly TapedCall[]
  readonly end: EndLine
  readonly findBytes: FindBytes
}

/** A recorded call. */
export interface TapedCall {
  readonly line: CallLine
  /** Number of its first line within the tape. */
  readonly at: number
  /** Lines about it, in order; parsed when it is played. */
  readonly steps: readonly TapedStep[]
}

/** A line about a call. */
export interface TapedStep {
  /** Number of the line within the tape. */
  readonly at: number
  /** @param edit changes its text before it is read */
  read(edit?: (text: string) => string): PartLine | EffectLine | OutcomeLine
}

/** The run that a tape is of: those that it continued, after an approval or an answer, are before it. */
export function lastRunOf({ name, runs }: Tape): TapedRun {
  const last = runs.at(-1)
  if (!last) throw new HostError('TAPE_INVALID', `The tape ${name} has no run.`)
  return last
}

/** Reads a tape from its file. @throws HostError `TAPE_INVALID` naming the reason, and the line where it is one */
export async function readTapeFile(path: string, name = path): Promise<Tape> {
  return readTape(await readTapeBytes(path, name), name)
}

/** Reads the file of a tape as it is. @param within folder that a link may not leave @throws HostError `TAPE_INVALID` naming the reason */
export function readTapeBytes(path: string, name: string, within?: string): Promise<Uint8Array> {
  return readRegularFile(path, { maxBytes: MAX_BYTES, within }).catch((cause) => {
    throw new HostError('TAPE_INVALID', `The tape ${name} cannot be read: ${messageOf(cause)}.`, { cause })
  })
}

/**
 * Reads a tape, and lets others work meanwhile: it may be large.
 *
 * @param name how errors call it
 * @param maxBytes of its lines, which are compressed in its file; default: 1 GiB
 * @throws HostError `TAPE_INVALID` for one that is cut off, incomplete, damaged, edited beyond use, or of a newer version
 */
export async function readTape(bytes: Uint8Array, name: string, maxBytes = MAX_BYTES): Promise<Tape> {
  const reader = new TapeReader(await unpack(bytes, name, maxBytes), name)
  return { name, runs: await reader.readRuns() }
}

/** Also of a file that was cut off: what is there says more than that it is not whole. */
export async function unpack(bytes: Uint8Array, name: string, maxBytes = MAX_BYTES): Promise<Buffer> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return Buffer.from(bytes)
  try {
    return await unzip(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: maxBytes })
  } catch (cause) {
    if (systemCodeOf(cause) === 'ERR_BUFFER_TOO_LARGE') {
      throw new HostError('TAPE_INVALID', `The tape ${name} is too large: it holds more than ${maxBytes / MIB} MB.`, {
        suggestions: EDITED,
        cause,
      })
    }
    throw new HostError('TAPE_INVALID', `The tape ${name} is damaged: ${messageOf(cause)}`, {
      suggestions: EDITED,
      cause,
    })
  }
}

const unzip = promisify(gunzip)

const MIB = 1024 * 1024
/** Maximum size of a tape that is read. A few bytes can say that they hold far more than there is memory. */
const MAX_BYTES = 1024 * MIB
const RECORD_AGAIN = ['Make room, or raise --debug-max-mb, and record the run again.']
const EDITED = ['It was edited, or damaged on its way. Take it from where it was recorded, or record the run again.']
const WHAT_IS_ONE = ['Tapes are in debug/tapes/ and tests/tapes/; `agent-host runs export` writes one to a file.']

/** Beginning of the lines that a tape has most of: they are not parsed before they are played. */
const STEP_START = /^\{"type":"(?:part|effect|result)","call":(\d+),/
const MAX_STEP_START = 60
/** Time that reading takes before others get their turn. */
const YIELD_AFTER_MS = 10

/** As agent files have it. */
const AGENT_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/
/** They stand in errors, in names of files and in generated tests: one line of text. Programs choose ids of runs. */
const NAME = /^[^\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]{1,500}$/u

class TapeReader {
  readonly #bytes: Buffer
  readonly #name: string
  #offset = 0
  #at = 0
  #workingSinceMs = performance.now()

  constructor(bytes: Buffer, name: string) {
    this.#bytes = bytes
    this.#name = name
  }

  async readRuns(): Promise<readonly TapedRun[]> {
    const runs: TapedRun[] = []
    while (this.#offset < this.#bytes.length) runs.push(await this.#readRun())
    if (runs.length === 0)
      throw this.#fail('is empty: its run did not end while it was recorded, or the disk was full.', RECORD_AGAIN)
    return runs
  }

  async #readRun(): Promise<TapedRun> {
    const head = this.#readHead()
    const kept = new Map<string, BytesLine>()
    let turn = this.#next()
    for (; turn?.type === 'bytes'; turn = this.#next()) {
      kept.set(turn.sha256, turn)
      if (this.#isLate) await this.#yield()
    }
    if (turn?.type === 'end' && turn.incomplete !== null) throw this.#incomplete(turn.incomplete)
    if (turn?.type !== 'turn') throw turn ? this.#unfit('the turn of a run is expected') : this.#cutOff()
    const calls: (TapedCall & { readonly steps: TapedStep[] })[] = []
    const find: FindBytes = (sha256) => {
      const line = kept.get(sha256)
      if (!line) throw this.#fail(`has lost the bytes ${sha256}.`, EDITED)
      return decodeBase64(line.base64)
    }
    for (;;) {
      if (this.#isLate) await this.#yield()
      const step = this.#nextStep()
      if (step) {
        const call = calls[step.call - 1]
        if (!call) throw this.#unfit(`there is no call ${step.call}`)
        call.steps.push(step.step)
        continue
      }
      const line = this.#next()
      if (!line) throw this.#cutOff()
      if (line.type === 'call') {
        if (!Array.isArray(line.arguments)) throw this.#unfit('the arguments of a call are expected')
        const names = [line.module, line.caller, line.protocol, line.method]
        if (!names.every(isName)) throw this.#unfit('the names of module and method are expected')
        if (line.call !== calls.length + 1) throw this.#unfit(`call ${calls.length + 1} is expected`)
        // A call within itself has no outermost one.
        if (line.within !== null && !calls[line.within - 1])
          throw this.#unfit('a call within an earlier one is expected')
        calls.push({ line, at: this.#at, steps: [] })
      } else if (line.type === 'bytes') kept.set(line.sha256, line)
      else if (line.type === 'end') return this.#check({ head, turn, calls, end: line, findBytes: find })
      else throw this.#unfit('a call or the end of the run is expected')
    }
  }

  #readHead(): HeadLine {
    const line = this.#next()
    if (line?.type !== 'head' || typeof line.tape !== 'number') throw this.#notATape()
    if (line.tape > TAPE_FORMAT) {
      throw this.#fail(
        `was recorded by agent-host ${line.version}, in format ${line.tape}; this version reads up to ${TAPE_FORMAT}.`,
        ['Update agent-host: npm install agent-host@latest'],
      )
    }
    const { agent, modules, environment, files } = fieldsOf(line)
    const isWhole = isObject(fieldsOf(agent).definition) && isObject(environment) && isObject(files)
    const { id } = fieldsOf(agent)
    const isNamed = typeof id === 'string' && AGENT_ID.test(id)
    if (!isWhole || !isNamed || !Array.isArray(modules)) throw this.#unfit('an agent with its modules is expected')
    return line
  }

  #check(run: TapedRun): TapedRun {
    const { calls, end, turn } = run
    if (!isName(turn.run_id)) throw this.#unfit('the id of the run is expected')
    if (!isTurn(fieldsOf(turn.turn)) || !Array.isArray(turn.overrides))
      throw this.#unfit('a turn with its messages is expected')
    if (typeof end.text !== 'string' || !Array.isArray(end.pending) || !Array.isArray(end.attachments))
      throw this.#unfit('the end has no answer')
    if (end.incomplete !== null) throw this.#incomplete(end.incomplete)
    if (end.calls !== calls.length)
      throw this.#unfit(`the end counts ${end.calls} calls, and there are ${calls.length}`)
    return run
  }

  get #isLate(): boolean {
    return performance.now() - this.#workingSinceMs > YIELD_AFTER_MS
  }

  async #yield(): Promise<void> {
    await yieldToOthers()
    this.#workingSinceMs = performance.now()
  }

  /** A line about a call, without parsing it; undefined for another line. */
  #nextStep(): { call: number; step: TapedStep } | undefined {
    const start = this.#offset
    const beginning = this.#bytes.toString('latin1', start, start + MAX_STEP_START)
    const [isStep, call] = STEP_START.exec(beginning) ?? []
    if (!isStep) return undefined
    const end = this.#lineEnd()
    if (end === undefined) return undefined
    this.#offset = end + 1
    const at = ++this.#at
    const read: TapedStep['read'] = (edit = (text) => text) => {
      const text = edit(this.#bytes.toString('utf8', start, end))
      return this.#parse(text, at) as PartLine | EffectLine | OutcomeLine
    }
    return { call: Number(call), step: { at, read } }
  }

  /** Undefined at the end, and for half a line. */
  #next(): TapeLine | undefined {
    const end = this.#lineEnd()
    if (end === undefined) return undefined
    const text = this.#bytes.toString('utf8', this.#offset, end)
    this.#offset = end + 1
    this.#at++
    return this.#parse(text, this.#at)
  }

  #lineEnd(): number | undefined {
    const end = this.#bytes.indexOf(0x0a, this.#offset)
    return end === -1 ? undefined : end
  }

  #parse(text: string, at: number): TapeLine {
    try {
      const line = JSON.parse(text) as TapeLine | null
      if (typeof line?.type === 'string') return line
    } catch {}
    if (at === 1) throw this.#notATape()
    throw this.#fail(`is damaged: line ${at} is not a line of a tape.`, EDITED)
  }

  #unfit(reason: string): HostError {
    return this.#fail(`does not fit together at line ${this.#at}: ${reason}.`, EDITED)
  }

  #incomplete(reason: string): HostError {
    return this.#fail(`is incomplete, and cannot be replayed: ${reason}.`, RECORD_AGAIN)
  }

  #cutOff(): HostError {
    return this.#fail(
      `is cut off after line ${this.#at}: its run did not end while it was recorded, or the disk was full.`,
      RECORD_AGAIN,
    )
  }

  #notATape(): HostError {
    const message = `${this.#name} is not a tape: it does not begin with a head.`
    return new HostError('TAPE_INVALID', message, { suggestions: WHAT_IS_ONE })
  }

  #fail(problem: string, suggestions: readonly string[] = []): HostError {
    return new HostError('TAPE_INVALID', `The tape ${this.#name} ${problem}`, { suggestions })
  }
}

function isTurn({ messages, pending, answers, variant }: Readonly<Record<string, unknown>>): boolean {
  const isRead = isListOf(pending ?? [], 'kind') && isListOf(answers ?? [], 'kind') && isListOf(variant ?? [], 'module')
  return isRead && isListOf(messages, 'role')
}

/** @param field that names each of the items */
function isListOf(value: unknown, field: string): boolean {
  return Array.isArray(value) && value.every((item) => isName(fieldsOf(item)[field]))
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && NAME.test(value)
}
