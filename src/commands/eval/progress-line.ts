import type { EvalProgress } from '../../evals/run-evals.ts'
import { formatCost, formatScore } from './format-result.ts'

const EVERY_MS = 100

/** A line on the terminal that says how far an eval is. Elsewhere nothing is written. */
export class ProgressLine {
  readonly #stream: NodeJS.WriteStream
  #writtenMs = Number.NEGATIVE_INFINITY
  #sum = 0
  #scored = 0
  #isThere = false

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  show({ done, total, run, spent }: Pick<EvalProgress, 'done' | 'total' | 'run' | 'spent'>): void {
    if (run.score !== null) {
      this.#sum += run.score
      this.#scored++
    }
    const nowMs = performance.now()
    if (!this.#stream.isTTY || (nowMs - this.#writtenMs < EVERY_MS && done < total)) return
    this.#writtenMs = nowMs
    this.#isThere = true
    const score = this.#scored === 0 ? null : this.#sum / this.#scored
    this.#stream.write(`\r\u001b[2K${done} of ${total}, score ${formatScore(score)}, ${formatCost(spent)}`)
  }

  /** Takes the line away. */
  clear(): void {
    if (this.#isThere) this.#stream.write('\r\u001b[2K')
    this.#isThere = false
  }
}
