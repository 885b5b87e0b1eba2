import type { EvalProgress } from '../../evals/run-evals.ts'
import { type Log, makeLog } from '../../protocols/log.ts'
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
    return makeLog((level, message) => {
      if (level === 'warn' || level === 'error') this.clear()
      log[level](message)
    })
  }

  /** Removes the line. */
  clear(): void {
    if (this.#isThere) this.#stream.write('\r\u001b[2K')
    this.#isThere = false
  }
}
