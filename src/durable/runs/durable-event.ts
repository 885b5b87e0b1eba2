import type { Usage } from '../../protocols/run.ts'
import { NO_USAGE } from '../../protocols/usage.ts'
import type { AttachmentJson } from '../../run/attachment-json.ts'
import type { RunStatus } from '../../run/run-event.ts'
import type { PendingCall } from '../../run/waiting/pending-call.ts'
import { approvalId } from '../approvals/approvals.ts'
import { type EndStep, isEnd, type Step } from './steps.ts'

/** Event of a durable run. `number` counts from 1; a client that knows it can go on after it. */
export type DurableEvent = { readonly number: number } & (
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'attachment'; readonly attachment: AttachmentJson }
  /** Event of a module's own. */
  | { readonly type: 'custom'; readonly name: string; readonly value: unknown }
  /** One of the agent's own tools is called. */
  | {
      readonly type: 'tool_call'
      readonly call: {
        readonly id: string
        readonly name: string
        readonly arguments: Readonly<Record<string, unknown>>
      }
      readonly moduleId: string
    }
  | {
      readonly type: 'tool_result'
      readonly callId: string
      readonly result: { readonly text: string; readonly isError: boolean }
    }
  /** The run needs a person or a client; `id` is that of the open call. */
  | { readonly type: 'pending'; readonly id: string; readonly pending: PendingCall }
  /** Another attempt begins, after one that was cut off: what was said before is not part of the answer. */
  | { readonly type: 'restart'; readonly attempt: number }
  /** Always the last. */
  | {
      readonly type: 'end'
      readonly status: RunStatus
      readonly usage: Readonly<Usage>
      /** Limit for which a completed run stopped before its answer was whole. */
      readonly reason: string | undefined
      /** Why it failed, for clients. */
      readonly error: string | undefined
    }
)

/** Turns the steps of a run into events, in their order. */
export class EventReader {
  readonly #runId: string
  #read = 0
  #pending = 0

  constructor(runId: string) {
    this.#runId = runId
  }

  /** Number of the steps that were read. */
  get count(): number {
    return this.#read
  }

  /** Reads further steps, at least one. A cancellation after the end takes its place. */
  read(steps: readonly Step[]): DurableEvent[] {
    return steps.flatMap((step, index): DurableEvent[] => {
      const number = ++this.#read
      const event = !isEnd(step) ? this.#toEvent(step) : isEnd(steps[index + 1]) ? undefined : this.#toEnd(step)
      return event ? [{ number, ...event }] : []
    })
  }

  #toEvent(step: Exclude<Step, EndStep>) {
    if (typeof step === 'string') return { type: 'text', text: step } as const
    if ('reasoning' in step) return { type: 'reasoning', text: step.reasoning } as const
    if ('attachment' in step) return { type: 'attachment', attachment: step.attachment } as const
    if ('custom' in step) return { type: 'custom', ...step.custom } as const
    if ('call' in step) {
      const { id, name, arguments: args, moduleId } = step.call
      return { type: 'tool_call', call: { id, name, arguments: args }, moduleId } as const
    }
    if ('result' in step) {
      const { callId, text, isError } = step.result
      return { type: 'tool_result', callId, result: { text, isError } } as const
    }
    if ('pending' in step) {
      return { type: 'pending', id: approvalId(this.#runId, this.#pending++), pending: step.pending } as const
    }
    // Calls that are not shown are no event.
    return 'restart' in step ? ({ type: 'restart', attempt: step.restart } as const) : undefined
  }

  #toEnd({ end, usage = NO_USAGE, incomplete, error }: EndStep) {
    const status = end === 'completed' && this.#pending > 0 ? 'waiting' : end
    return { type: 'end', status, usage, reason: incomplete, error } as const
  }
}
