import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type LLMPart, messageOf } from 'agent-host'

/** One line of a cassette: the request, and every part of the answer. */
export interface Recording {
  readonly request: unknown
  readonly parts: readonly LLMPart[]
}

/** A file of JSON lines. It is whole at every instant, or not there. */
export class CassetteFile {
  /** Absolute. */
  readonly path: string
  #writing: Promise<void> = Promise.resolve()

  constructor(path: string) {
    this.path = path
  }

  /**
   * The recordings in the order of the file; none when there is no file.
   *
   * @throws Error that names file and line
   */
  async read(): Promise<Recording[]> {
    const text = await readFile(this.path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw new Error(`The cassette ${this.path} cannot be read: ${messageOf(error)}`, { cause: error })
    })
    return text
      .split('\n')
      .flatMap((line, index) => (line.trim() === '' ? [] : [parseLine(line, `${this.path}:${index + 1}`)]))
  }

  /** Reads, changes and writes; one change at a time. */
  change(edit: (recordings: readonly Recording[]) => readonly Recording[]): Promise<void> {
    const written = this.#writing.then(async () => this.#write(edit(await this.read())))
    // The next one does not fail because this one did.
    this.#writing = written.catch(() => {})
    return written
  }

  async #write(recordings: readonly Recording[]): Promise<void> {
    const draft = `${this.path}.${randomUUID()}.tmp`
    try {
      await mkdir(dirname(this.path), { recursive: true })
      await writeFile(draft, recordings.map((recording) => `${JSON.stringify(recording)}\n`).join(''))
      await rename(draft, this.path)
    } catch (error) {
      await rm(draft, { force: true })
      throw new Error(`The cassette ${this.path} cannot be written: ${messageOf(error)}`, { cause: error })
    }
  }
}

function parseLine(line: string, place: string): Recording {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    throw new Error(`The cassette ${place} is no JSON: ${messageOf(error)}`, { cause: error })
  }
  const { request, parts } = (value ?? {}) as Partial<Recording>
  if (typeof request === 'object' && request !== null && Array.isArray(parts)) return { request, parts }
  throw new Error(`The cassette ${place} is no recording: it needs 'request' and 'parts'.`)
}
