import type { ClientCode } from '../../errors.ts'
import { nowSeconds } from '../../now-seconds.ts'
import type { ToolCall } from '../../protocols/message.ts'
import type { Usage } from '../../protocols/run.ts'
import type { ToolResult } from '../../protocols/tool-provider.ts'
import { type AttachmentJson, toAttachmentJson } from '../../run/attachment-json.ts'
import type { AnswerOfCall, RunEvent } from '../../run/run-event.ts'
import type { PendingCall } from '../../run/waiting/pending-call.ts'

/** Step of a run, in the order in which it happened. A text is a piece of the answer. JSON. */
export type Step =
  | string
  | ReasoningStep
  | SealedStep
  | AttachmentStep
  | CustomStep
  | CallStep
  | ResultStep
  | PendingStep
  | HiddenStep
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

/** Event of a module's own. */
export interface CustomStep {
  readonly custom: { readonly name: string; readonly value: unknown }
}

/** Call of one of the agent's own tools. */
export interface CallStep {
  /** Data for the conversation alone is left out once the run has ended: its turn has it. */
  readonly call: ToolCall & { readonly moduleId: string; readonly answer?: AnswerOfCall | undefined }
}

/** Result of an own call. */
export interface ResultStep {
  readonly result: {
    readonly callId: string
    readonly text: string
    readonly isError: boolean
    /** For the conversation alone: left out once the run has ended. */
    readonly attachments?: readonly AttachmentJson[]
  }
}

/** Call that the run waits for. */
export interface PendingStep {
  readonly pending: PendingCall
}

/** Own call, or result of a call, that clients do not see: the conversation has it, however the run ends. */
export interface HiddenStep {
  /** Null once the run has ended. */
  readonly hidden: CallStep | ResultStep | null
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
  /** Code by which clients of models know the reason. */
  readonly code?: ClientCode | undefined
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
    case 'custom':
      return { custom: { name: event.name, value: event.value } }
    case 'tool_call': {
      const { call, moduleId, answer } = event
      return { call: { ...call, moduleId, answer } }
    }
    case 'tool_result':
      return toResultStep(event.callId, event.result)
    case 'pending':
      return { pending: event.pending }
    default:
      return undefined
  }
}

export function toResultStep(callId: string, { text, isError = false, attachments = [] }: ToolResult): ResultStep {
  const attached = attachments.length > 0 ? { attachments: attachments.map(toAttachmentJson) } : {}
  return { result: { callId, text, isError, ...attached } }
}

/** Number of characters that a step adds to an answer. */
export function lengthOf(step: Step): number {
  if (typeof step === 'string') return step.length
  if ('reasoning' in step) return step.reasoning.length
  if ('sealed' in step) return step.sealed.length
  return 'attachment' in step ? (step.attachment.base64?.length ?? 0) : 0
}

/** Tells a call or a result, shown or hidden. */
export function isOfCall(step: Step): step is CallStep | ResultStep | HiddenStep {
  return typeof step === 'object' && ('call' in step || 'result' in step || 'hidden' in step)
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
  for (const step of steps) packed.push(typeof step === 'string' ? step.length : withoutTrail(step))
  return { text: joinTexts(steps), steps: packed }
}

function withoutTrail(step: Exclude<Step, string>): Exclude<Step, string> {
  if ('hidden' in step) return { hidden: null }
  if ('call' in step) {
    const { id, name, arguments: args, moduleId } = step.call
    return { call: { id, name, arguments: args, moduleId } }
  }
  if (!('result' in step)) return step
  const { attachments: _, ...result } = step.result
  return { result }
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

export function endCutOff(): EndStep {
  return endFailed('The server restarted before the response was complete')
}
