import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { type LLMPart, messageOf, type ReadTapeCall, readRegularFile, readTapeCalls } from 'agent-host'

const unzip = promisify(gunzip)
const MAX_BYTES = 256 * 1024 * 1024

/** A request, and every part of the answer. */
export interface Recording {
  /** Form of the request: that of a tape, or that of earlier versions. */
  readonly form: 'tape' | 'plain'
  readonly request: unknown
  readonly parts: readonly LLMPart[]
  /** Number of the call; 0 for a recording of an earlier version. */
  readonly call: number
  /** Lines of the file, without their newlines. */
  readonly lines: readonly string[]
}

/** A file of calls as tapes have them, JSON lines. It is whole at every instant, or not there. */
export class CassetteFile {
  /** Absolute. */
  readonly path: string
  #writing: Promise<void> = Promise.resolve()

  constructor(path: string) {
    this.path = path
  }

  /**
   * The recordings in the order of the file; none when there is no file. Those of earlier versions, a line each, come first.
   *
   * @throws Error that names file and line
   */
  async read(): Promise<Recording[]> {
    return parse(await this.#readLines(), this.path)
  }

  /**
   * Reads, changes and writes; one change at a time.
   *
   * @throws Error for the tape of a run, which is not changed
   */
  change(edit: (recordings: readonly Recording[]) => readonly Pick<Recording, 'lines'>[]): Promise<void> {
    const written = this.#writing.then(async () => {
      const lines = await this.#readLines()
      if (lines.some((line) => line.startsWith('{"type":"head",')))
        throw new Error(`The cassette ${this.path} is the tape of a run: recordings need a file of their own.`)
      await this.#write(edit(parse(lines, this.path)))
    })
    // The next one does not fail because this one did.
    this.#writing = written.catch(() => {})
    return written
  }

  async #readLines(): Promise<string[]> {
    const bytes = await readRegularFile(this.path, { maxBytes: MAX_BYTES }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return Buffer.alloc(0)
      throw new Error(`The cassette ${this.path} cannot be read: ${messageOf(error)}`, { cause: error })
    })
    const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b
    return (isGzip ? await unzip(bytes, { maxOutputLength: MAX_BYTES }) : bytes).toString().split('\n')
  }

  async #write(recordings: readonly Pick<Recording, 'lines'>[]): Promise<void> {
    const draft = `${this.path}.${randomUUID()}.tmp`
    try {
      await mkdir(dirname(this.path), { recursive: true })
      await writeFile(draft, recordings.flatMap(({ lines }) => lines.map((line) => `${line}\n`)).join(''))
      await rename(draft, this.path)
    } catch (error) {
      await rm(draft, { force: true })
      throw new Error(`The cassette ${this.path} cannot be written: ${messageOf(error)}`, { cause: error })
    }
  }
}

function parse(lines: readonly string[], path: string): Recording[] {
  const plain = lines.map((line, index) => parsePlain(line, `The cassette ${path}:${index + 1}`))
  const others = lines.map((line, index) => (plain[index] ? '' : line))
  const calls = readTapeCalls(others, `The cassette ${path}`)
  return [
    ...plain.filter((recording) => recording !== undefined),
    ...calls.filter(({ protocol, method }) => protocol === 'LLM' && method === 'generate').map(toRecording),
  ]
}

function toRecording({ call, arguments: [request = null], parts, lines }: ReadTapeCall): Recording {
  const values = parts.map(({ value }) => value as LLMPart)
  return { form: 'tape', request, parts: values, call, lines }
}

/** A recording of an earlier version: one line has the request and the parts. Undefined for another line. */
function parsePlain(line: string, place: string): Recording | undefined {
  if (!line.startsWith('{"request":')) return undefined
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    throw new Error(`${place} is no JSON: ${messageOf(error)}`, { cause: error })
  }
  const { request, parts } = (value ?? {}) as Partial<Recording>
  if (typeof request === 'object' && request !== null && Array.isArray(parts))
    return { form: 'plain', request, parts, call: 0, lines: [line] }
  throw new Error(`${place} is no recording: it needs 'request' and 'parts'.`)
}
