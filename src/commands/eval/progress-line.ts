import type { EvalProgress } from '../../evals/run-evals.ts'
import type { Log } from '../../protocols/log.ts'
import { formatCost, formatScore } from './format-result.ts'

/** A line on the terminal that says how far an eval is. Elsewhere nothing is written. */
export class ProgressLine {
  readonly #stream: NodeJS.WriteStream
  #isThere = false

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  show({ done, total, score, spent }: Pick<EvalProgress, 'done' | 'total' | 'score' | 'spent'>): void {
    if (!this.#stream.isTTY) return
    this.#isThere = true
    this.#stream.write(`\r\u001b[2K${done} of ${total}, score ${formatScore(score)}, ${formatCost(spent)}`)
  }

  /** Returns a log whose lines stand above this one. */
  above(log: Log): Log {
    const clearThen =
      (write: (message: string) => void) =>
      (message: string): void => {
        this.clear()
        write(message)
      }
    return { debug: log.debug, info: log.info, warn: clearThen(log.warn), error: clearThen(log.error) }
  }

  /** Removes the line. */
  clear(): void {
    if (this.#isThere) this.#stream.write('\r\u001b[2K')
    this.#isThere = false
  }
}
