import { closeSync, constants, ftruncateSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, threadId, workerData } from 'node:worker_threads'
import { gunzipSync } from 'node:zlib'
import { messageOf, systemCodeOf } from '../../errors.ts'
import { NO_LINKS, readRegularFileSync } from '../../read-regular-file.ts'
import { hideSecrets, makeNameSecrets, type Redact } from '../../redaction/redact.ts'
import type { ThreadReply } from '../../trace/thread/service-thread.ts'
import { fillHead } from '../file/fill-head.ts'
import { findCut, hideSecretsInLines, hideSecretsInPieces } from '../file/hide-secrets.ts'
import { inTapeFolder, PART_ENDING, TapeFolder, tapeFile } from '../file/tape-folder.ts'
import { compress } from './compress.ts'
import type { LinesToWrite, TapeNews, TapeRequest, TapeThreadData } from './tape-messages.ts'

const { O_CREAT, O_EXCL, O_WRONLY } = constants
/** A link in the folder would have files elsewhere written. */
const NEW_FILE = O_CREAT | O_EXCL | O_WRONLY | NO_LINKS
/** Larger tapes are not compressed again by the runs that go on with them. */
const MAX_JOINED = 1024 * 1024
const MAX_JOINED_TEXT = 64 * 1024 * 1024

/** Head of the tapes of an agent, as it is and compressed. */
interface Head {
  readonly text: string
  readonly bytes: Buffer
}

/** Lines of one run, as text. */
interface Lines extends Omit<LinesToWrite, 'bytes'> {
  readonly text: string
}

/** A tape of several parts, under way. */
interface OpenTape {
  readonly path: string
  readonly descriptor: number
  size: number
  /** Lines that are not written: a secret may go on in the next ones. */
  rest: string
  /** Why parts are missing. */
  problem: string | undefined
}

/** The thread that writes tapes: compressing and the disk are waited for here. */
class TapeService {
  readonly #folder: TapeFolder
  readonly #projectDir: string
  readonly #hide: Redact
  readonly #heads = new Map<number, Head>()
  readonly #open = new Map<string, OpenTape>()
  #parts = 0

  constructor({ dir, projectDir, maxBytes, secrets }: TapeThreadData) {
    this.#folder = new TapeFolder(dir, maxBytes)
    this.#projectDir = projectDir
    this.#hide = makeNameSecrets(secrets)
    parentPort?.on('message', (request: TapeRequest) => this.#do(request))
    this.#say({ kind: 'ready' })
  }

  #do(request: TapeRequest): void {
    switch (request.kind) {
      case 'head':
        this.#heads.set(request.key, this.#makeHead(request.line, request.files))
        break
      case 'forget':
        this.#heads.delete(request.key)
        break
      case 'write':
        for (const lines of request.runs) this.#take(lines)
        this.#say({ kind: 'written', bytes: request.runs.reduce((sum, { bytes }) => sum + bytes.length, 0) })
        break
      case 'delete':
        for (const runId of request.runIds) this.#delete(runId)
        break
      case 'finish':
        this.#say({ kind: 'answer', id: request.id })
        break
      case 'close':
        for (const runId of this.#open.keys()) this.#drop(runId)
        this.#say({ kind: 'closed' })
        parentPort?.close()
        break
    }
  }

  #makeHead(line: string, files: readonly string[]): Head {
    const text = `${fillHead(hideSecrets(line, this.#hide), files, this.#projectDir)}\n`
    return { text, bytes: compress(text) }
  }

  #take({ bytes, ...given }: LinesToWrite): void {
    const { runId, isEnd } = given
    try {
      const lines = { ...given, text: Buffer.from(bytes.buffer, 0, bytes.length).toString() }
      const open = this.#open.get(runId)
      if (!open && isEnd) this.#writeWhole(lines)
      else this.#append(open ?? this.#begin(lines), lines)
    } catch (error) {
      this.#say({ kind: 'failed', runId, problem: messageOf(error) })
    }
  }

  /** Most tapes come at once: a file without its last line counts as cut off. */
  #writeWhole(given: Lines): void {
    const lines = { ...given, text: this.#withoutSecrets(given.text) }
    const bytes = this.#joined(lines) ?? Buffer.concat([this.#beginningOf(lines), compress(lines.text)])
    const descriptor = bytes.length > this.#folder.maxTapeBytes ? undefined : this.#create(lines.runId)
    if (descriptor === undefined) {
      this.#append(this.#begin(given), given)
      return
    }
    let size = bytes.length
    try {
      writeAll(descriptor, bytes, 0)
    } catch (error) {
      size = this.#markIncomplete(descriptor, lines, messageOf(error))
      throw error
    } finally {
      closeSync(descriptor)
      this.#folder.add(size)
    }
  }

  /** Leaves the reason alone in a file that could not be written whole, and nothing where a full disk does not take that either. */
  #markIncomplete(descriptor: number, { head, text }: Lines, problem: string): number {
    try {
      ftruncateSync(descriptor)
      const mark = compress((this.#heads.get(head)?.text ?? '') + markLast(text, problem))
      writeAll(descriptor, mark, 0)
      return mark.length
    } catch {
      ftruncateSync(descriptor)
      return 0
    }
  }

  /** Undefined where the run has a tape. */
  #create(runId: string): number | undefined {
    try {
      return this.#openNew(this.#folder.pathOf(runId))
    } catch (error) {
      if (systemCodeOf(error) === 'EEXIST') return undefined
      throw error
    }
  }

  #openNew(path: string): number {
    return inTapeFolder(this.#folder.dir, () => openSync(path, NEW_FILE, 0o600))
  }

  #begin(lines: Lines): OpenTape {
    const part = `${tapeFile(lines.runId)}.${process.pid}-${threadId}-${++this.#parts}${PART_ENDING}`
    const path = join(this.#folder.dir, part)
    const tape: OpenTape = { path, descriptor: this.#openNew(path), size: 0, rest: '', problem: undefined }
    this.#open.set(lines.runId, tape)
    this.#appendBytes(tape, lines.runId, () => this.#beginningOf(lines))
    return tape
  }

  #append(tape: OpenTape, { runId, text: more, isEnd }: Lines): void {
    const all = tape.rest + more
    const cut = isEnd ? all.length : findCut(all, this.#hide)
    const text = this.#withoutSecrets(all.slice(0, cut))
    tape.rest = all.slice(cut)
    if (!tape.problem && text !== '') this.#appendBytes(tape, runId, () => compress(text))
    if (!isEnd) return
    if (tape.problem) this.#appendBytes(tape, runId, () => compress(markLast(text, tape.problem ?? '')), Infinity)
    this.#open.delete(runId)
    closeSync(tape.descriptor)
    // The one that ends last stays.
    renameSync(tape.path, this.#folder.pathOf(runId))
    this.#folder.add(tape.size)
  }

  #withoutSecrets(text: string): string {
    return hideSecretsInLines(hideSecretsInPieces(text, this.#hide), this.#hide)
  }

  /** Removes a part that cannot be written whole: the tape is incomplete, and can be read up to there. */
  #appendBytes(tape: OpenTape, runId: string, make: () => Buffer, maxBytes = this.#folder.maxTapeBytes): void {
    try {
      const bytes = make()
      if (tape.size + bytes.length > maxBytes) throw new Error('it is larger than --debug-max-mb')
      writeAll(tape.descriptor, bytes, tape.size)
      tape.size += bytes.length
    } catch (error) {
      if (!tape.problem) this.#say({ kind: 'failed', runId, problem: messageOf(error) })
      tape.problem ??= messageOf(error)
      ftruncateSync(tape.descriptor, tape.size)
    }
  }

  /** The tape that this one goes on, as far as it is here, and the head. */
  #beginningOf({ continues, head }: Lines): Buffer {
    return Buffer.concat([this.#earlier(continues), this.#heads.get(head)?.bytes ?? Buffer.alloc(0)])
  }

  /** A tape with the one that it goes on in one piece, which is smaller: they say much the same. Undefined where there is none, or a large one. */
  #joined({ continues, head, text }: Lines): Buffer | undefined {
    const earlier = this.#earlier(continues)
    if (earlier.length === 0 || earlier.length > MAX_JOINED) return undefined
    const said = unpack(earlier)
    return said === undefined ? undefined : compress(said + (this.#heads.get(head)?.text ?? '') + text)
  }

  #earlier(continues: string | null): Buffer {
    if (continues === null) return Buffer.alloc(0)
    try {
      return readRegularFileSync(this.#folder.pathOf(continues), Infinity, NO_LINKS)
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return Buffer.alloc(0)
      throw error
    }
  }

  #delete(runId: string): void {
    this.#drop(runId)
    try {
      this.#folder.remove(runId)
    } catch {
      // The process tries again, and says why.
    }
  }

  #drop(runId: string): void {
    const open = this.#open.get(runId)
    if (!open) return
    this.#open.delete(runId)
    closeSync(open.descriptor)
    rmSync(open.path, { force: true })
  }

  #say(reply: TapeNews | ThreadReply): void {
    parentPort?.postMessage(reply)
  }
}

/** The lines of an earlier tape; undefined where it was damaged, or holds too much. */
function unpack(bytes: Buffer): string | undefined {
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_JOINED_TEXT }).toString()
  } catch {
    return undefined
  }
}

function writeAll(descriptor: number, bytes: Buffer, position: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(descriptor, bytes, written, bytes.length - written, position + written)
  }
}

/** The last of these lines, which is the end of the run, without its answer, and with the reason why the tape is not whole. */
function markLast(text: string, incomplete: string): string {
  const [last = '{}'] = text.trimEnd().split('\n').slice(-1)
  return `${JSON.stringify({ ...JSON.parse(last), text: '', attachments: [], incomplete })}\n`
}

new TapeService(workerData as TapeThreadData)
