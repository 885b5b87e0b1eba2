import { hash } from 'node:crypto'
import type { IdGenerator } from '@opentelemetry/sdk-trace-node'

/** Gives the trace of a run the run's own id: it can be found from there, and every call of the run belongs to it. */
export class TraceIds implements IdGenerator {
  readonly #random: IdGenerator
  #next: string | undefined

  constructor(random: IdGenerator) {
    this.#random = random
  }

  /** Names the run, if any, of the trace that is about to begin. */
  use(runId: string | null): void {
    this.#next = runId === null ? undefined : traceIdOf(runId)
  }

  generateTraceId = (): string => this.#next ?? this.#random.generateTraceId()

  generateSpanId = (): string => this.#random.generateSpanId()
}

function traceIdOf(runId: string): string {
  const hex = runId.replaceAll('-', '').toLowerCase()
  if (/^[\da-f]{32}$/.test(hex) && !/^0+$/.test(hex)) return hex
  return hash('sha256', runId).slice(0, 32)
}
