import type { ToolCall } from '../../protocols/message.ts'
import type { Usage } from '../../protocols/run.ts'
import { type AttachmentJson, toAttachmentJson } from '../../run/attachment-json.ts'
import type { RunEvent } from '../../run/run-event.ts'
import type { PendingCall } from '../../run/waiting/pending-call.ts'

/** Step of a run, in the order in which it happened. A text is a piece of the answer. JSON. */
export type Step =
  | string
  | ReasoningStep
  | SealedStep
  | AttachmentStep
  | CallStep
  | ResultStep
  | PendingStep
  | ActedStep
  | RestartStep
  | EndStep

export interface ReasoningStep {
  readonly reasoning: string
}

/** Data of the reasoning so far, sealed for a client that gives it back: the reasoning ends here. */
export interface SealedStep {
  readonly sealed: string
}

export interface AttachmentStep {
  readonly attachment: AttachmentJson
}

/** Call of one of the agent's own tools. */
export interface CallStep {
  readonly call: Pick<ToolCall, 'id' | 'name' | 'arguments'> & { readonly moduleId: string }
}

/** Result of an own call. */
export interface ResultStep {
  readonly result: { readonly callId: string; readonly text: string; readonly isError: boolean }
}

/** Call that the run waits for. */
export interface PendingStep {
  readonly pending: PendingCall
}

/** Says that tools were called, where the calls are not shown: the run must not begin again by itself. */
export interface ActedStep {
  readonly acted: true
}

/** Start of another attempt, after an interrupted one. Earlier text is not part of the answer. */
export interface RestartStep {
  /** Number of the attempt, counted from 1. */
  readonly restart: number
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
  readonly steps: readonly (number | Exclude<Step, string>)[]
}

export function isEnd(step: Step | undefined): step is EndStep {
  return typeof step === 'object' && 'end' in step
}

/** Returns the step that an event is; undefined for an event that is not replayed. */
export function stepOf(event: RunEvent): Exclude<Step, EndStep> | undefined {
  switch (event.type) {
    case 'text':
      return event.text
    case 'reasoning':
      return event.text === '' ? undefined : { reasoning: event.text }
    case 'attachment':
      return { attachment: toAttachmentJson(event.attachment) }
    case 'tool_call': {
      const { id, name, arguments: args } = event.call
      return { call: { id, name, arguments: args, moduleId: event.moduleId } }
    }
    case 'tool_result': {
      const { text, isError = false } = event.result
      return { result: { callId: event.callId, text, isError } }
    }
    case 'pending':
      return { pending: event.pending }
    default:
      return undefined
  }
}

/** Number of characters that a step adds to an answer. */
export function lengthOf(step: Step): number {
  if (typeof step === 'string') return step.length
  if ('reasoning' in step) return step.reasoning.length
  if ('sealed' in step) return step.sealed.length
  return 'attachment' in step ? (step.attachment.base64?.length ?? 0) : 0
}

/** Whole text of an agent, without the calls in between. */
function joinTexts(steps: readonly Step[]): string {
  let text = ''
  for (const step of steps) if (typeof step === 'string') text += step
  return text
}

/** Whole text of the last attempt. */
export function answerOf(steps: readonly Step[]): string {
  return joinTexts(steps.slice(steps.findLastIndex((step) => typeof step === 'object' && 'restart' in step) + 1))
}

export function packSteps(steps: readonly Step[]): PackedSteps {
  const packed: (number | Exclude<Step, string>)[] = []
  // Without `map`: in Node 20 its array counts as one that may have holes, and its JSON takes longer.
  for (const step of steps) packed.push(typeof step === 'string' ? step.length : step)
  return { text: joinTexts(steps), steps: packed }
}

export function unpackSteps({ text, steps }: PackedSteps): Step[] {
  let start = 0
  return steps.map((step) => {
    if (typeof step !== 'number') return step
    start += step
    return text.slice(start - step, start)
  })
}

export function endFailed(error: string): EndStep {
  return { end: 'failed', at: nowSeconds(), error }
}

/** End of a run whose steps cannot be stored. */
export function endUnstored(): EndStep {
  return endFailed('The response could not be stored')
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

export function endCutOff(): EndStep {
  return endFailed('The server restarted before the response was complete')
}
