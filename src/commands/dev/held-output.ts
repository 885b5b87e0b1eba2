import { cleanText } from '../../wire/clean-text.ts'
import { plural } from '../terminal/plural.ts'

/** With more lines or bytes all are printed, and the question is shown again below them. */
const MAX_LINES = 1000
const MAX_BYTES = 1024 * 1024
/** Has the terminal mark what is pasted, and stop to. */
const MARK_PASTES = '\u001b[?2004h'
const LEAVE_PASTES = '\u001b[?2004l'

/** Standard output or standard error, with its own way to write. */
interface Diverted {
  readonly stream: NodeJS.WriteStream
  readonly write: NodeJS.WriteStream['write']
}

/** Terminal of this process, on which a question stands: what the process writes meanwhile comes after it, and nothing is lost. */
export class HeldOutput {
  readonly #onFull: () => void
  /** Empty while no question stands. */
  #diverted: Diverted[] = []
  #held: (() => void)[] = []
  #lines = 0
  #bytes = 0

  /** @param onFull called once everything that was held back had to be printed */
  constructor(onFull: () => void) {
    this.#onFull = onFull
    process.once('exit', () => this.release())
  }

  /** Prints lines of a question. */
  print(lines: readonly string[]): void {
    for (const line of lines) this.#write(`${cleanText(line)}\n`)
  }

  hold(): void {
    if (this.#diverted.length > 0) return
    this.#write(MARK_PASTES)
    this.#diverted = [process.stdout, process.stderr].map((stream) => ({ stream, write: stream.write }))
    for (const each of this.#diverted) each.stream.write = this.#keepFrom(each)
  }

  release(): void {
    if (this.#diverted.length === 0) return
    for (const { stream, write } of this.#diverted.splice(0)) stream.write = write
    this.#write(LEAVE_PASTES)
    this.#printHeld()
  }

  #write(text: string): void {
    const { stream, write } = this.#diverted[0] ?? { stream: process.stdout, write: process.stdout.write }
    write.call(stream, text)
  }

  #keepFrom({ stream, write }: Diverted): Diverted['write'] {
    return (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
      // A copy: its sender may use the bytes again.
      const bytes = Buffer.from(chunk as string, rest.find((each) => typeof each === 'string') as BufferEncoding)
      this.#held.push(() => write.call(stream, bytes))
      this.#lines += bytes.toString('latin1').split('\n').length - 1
      this.#bytes += bytes.length
      // It is not written yet: its sender goes on nevertheless.
      for (const done of rest) if (typeof done === 'function') process.nextTick(() => done())
      if (this.#lines > MAX_LINES || this.#bytes > MAX_BYTES) {
        this.#printHeld()
        this.#onFull()
      }
      return true
    }
  }

  #printHeld(): void {
    const held = this.#held.splice(0)
    if (held.length > 0) this.print([`Meanwhile (${plural(this.#lines, 'line')}):`])
    this.#lines = 0
    this.#bytes = 0
    for (const print of held) print()
  }
}
