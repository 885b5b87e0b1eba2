import type { Attachment, Message, ToolCall } from '../../protocols/message.ts'
import { fromAttachmentJson } from '../../run/attachment-json.ts'
import type { AnswerOfCall } from '../../run/run-event.ts'
import { outcomeUnknown, toLastMessage, toToolMessage } from '../../run/state/trail.ts'
import type { Turn } from '../../run/turn.ts'
import { toHeldResult } from '../../run/waiting/held-texts.ts'
import { openOf, type PendingCall, toolCallOf } from '../../run/waiting/pending-call.ts'
import { openCallsOf } from '../../wire/paired-calls.ts'
import { type CallStep, type ResultStep, type Step, toResultStep } from './steps.ts'

/**
 * Reads from the steps of a run that was broken off what it adds to its conversation: calls with their results, and the text at its
 * place. Of several attempts the last counts.
 *
 * @param open calls of the turn before that it was to answer
 */
export function readTrail(steps: readonly Step[], open: readonly PendingCall[] = []): Message[] {
  const trail = new BrokenTrail()
  for (const step of steps) trail.take(step)
  return trail.messages(open)
}

/** Results of open calls that a turn brings along: no event tells them. */
export function givenResults({ answers = [], messages }: Pick<Turn, 'answers' | 'messages'>): ResultStep[] {
  const held = new Set(openCallsOf(messages).flatMap((call) => (call.held ? [call.id] : [])))
  return answers.flatMap((answer): ResultStep[] => {
    if (answer.kind === 'client_tool') return [toResultStep(answer.callId, answer.result)]
    if (answer.kind !== 'approval' || !held.has(answer.callId)) return []
    return [toResultStep(answer.callId, { text: toHeldResult(answer) })]
  })
}

/** Call that has begun. */
interface BegunCall {
  readonly call: ToolCall
  result?: Message
}

/** Answer of a model, with those of its calls that have begun. */
interface AnswerWithCalls {
  readonly content: string
  readonly answer: AnswerOfCall
  readonly calls: BegunCall[]
}

class BrokenTrail {
  /** Latest call of each id, those of an earlier run included. */
  readonly #begun = new Map<string, BegunCall>()
  /** Results of calls of an earlier run that the turn brought along. */
  readonly #given = new Map<string, Message>()
  #answers: AnswerWithCalls[] = []
  #text = ''
  #attachments: Attachment[] = []

  take(step: Step): void {
    if (typeof step === 'string') this.#text += step
    else if ('hidden' in step) step.hidden && this.take(step.hidden)
    else if ('call' in step) this.#begin(step.call)
    else if ('result' in step) this.#end(step.result)
    else if ('attachment' in step) this.#attachments.push(fromAttachmentJson(step.attachment))
    else if ('pending' in step) this.#hold(step.pending)
    else if ('restart' in step) this.#restart()
  }

  messages(open: readonly PendingCall[]): Message[] {
    const names = new Map(openOf(open).map((pending) => [toolCallOf(pending), pending.name]))
    return [
      ...[...names].map(([id, name]) => this.#settle(id, name)),
      ...this.#answers.flatMap(toMessages),
      ...toLastMessage(this.#text, this.#attachments),
    ]
  }

  #begin({ moduleId: _, answer, ...call }: CallStep['call']): void {
    const begun: BegunCall = { call }
    this.#begun.set(call.id, begun)
    if (!answer) return
    const same = this.#answers.find((other) => other.answer.index === answer.index)
    if (same) return void same.calls.push(begun)
    this.#answers.push({ content: this.#text, answer, calls: [begun] })
    this.#text = ''
  }

  #end({ callId, text, isError, attachments = [] }: ResultStep['result']): void {
    const begun = this.#begun.get(callId)
    const result = toToolMessage(callId, { text, isError, attachments: attachments.map(fromAttachmentJson) })
    if (begun) begun.result = result
    else this.#given.set(callId, result)
  }

  /** A call that waits for approval has not begun. */
  #hold({ callId, kind, name }: PendingCall): void {
    const begun = this.#begun.get(callId)
    if (kind !== 'approval' || begun?.call.name !== name) return
    this.#begun.delete(callId)
    for (const { calls } of this.#answers) if (calls.includes(begun)) calls.splice(calls.indexOf(begun), 1)
  }

  #restart(): void {
    this.#answers = []
    this.#text = ''
    this.#attachments = []
  }

  /** Answers an open call of an earlier run. */
  #settle(id: string, name: string): Message {
    const begun = this.#begun.get(id)
    if (begun) return resultOf(begun)
    const text = `The call of '${name}' was not executed: the run ended before it.`
    return this.#given.get(id) ?? toToolMessage(id, { text, isError: true })
  }
}

function toMessages({ content, answer: { index: _, ...more }, calls }: AnswerWithCalls): Message[] {
  if (calls.length === 0) return toLastMessage(content, [])
  const toolCalls = calls.map(({ call }) => call)
  return [{ role: 'assistant', content, ...more, toolCalls }, ...calls.map(resultOf)]
}

function resultOf({ call, result }: BegunCall): Message {
  return result ?? toToolMessage(call.id, outcomeUnknown(call.name))
}
