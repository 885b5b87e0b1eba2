import type { Usage } from '../protocols/run.ts'

/** Step of a run, in the order in which it happened: a piece of text, the call of a tool, the end. */
export type Step = string | CallStep | EndStep

export interface CallStep {
  readonly call: { readonly callId: string; readonly name: string; readonly arguments: string }
}

/** End of a run. A run ends once; only a cancellation may follow. */
export interface EndStep {
  readonly end: 'completed' | 'failed' | 'cancelled'
  /** Unix seconds. */
  readonly at: number
  readonly usage?: Readonly<Usage>
  /** Reason of a failure. */
  readonly error?: string
  /** Limit of its own for which the agent stopped. */
  readonly incomplete?: string
}

/** Steps as the row of an ended run holds them: all text in one piece, of each text step only its length. */
export interface PackedSteps {
  readonly text: string
  readonly steps: readonly (number | CallStep | EndStep)[]
}

export function isEnd(step: Step | undefined): step is EndStep {
  return typeof step === 'object' && 'end' in step
}

/** All that an agent has said, without the calls in between. */
export function textOf(steps: readonly Step[]): string {
  let text = ''
  for (const step of steps) if (typeof step === 'string') text += step
  return text
}

export function packSteps(steps: readonly Step[]): PackedSteps {
  return { text: textOf(steps), steps: steps.map((step) => (typeof step === 'string' ? step.length : step)) }
}

export function unpackSteps({ text, steps }: PackedSteps): Step[] {
  let start = 0
  return steps.map((step) => {
    if (typeof step !== 'number') return step
    start += step
    return text.slice(start - step, start)
  })
}

/** End of a run whose steps cannot be stored. */
export function endUnstored(): EndStep {
  return { end: 'failed', at: nowSeconds(), error: 'The response could not be stored' }
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}
