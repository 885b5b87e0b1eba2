import { HostError } from '../../errors.ts'
import type { Attachment, Message } from '../../protocols/message.ts'
import type { Usage } from '../../protocols/run.ts'
import type { ToolDefinition } from '../../protocols/tool-definition.ts'
import { addUsage, NO_USAGE } from '../../protocols/usage.ts'
import type { RunEvent, RunEventSink, RunStatus } from '../run-event.ts'
import type { Turn } from '../turn.ts'
import { type PendingCall, RUN_WAITS, type RunWaits } from './pending-call.ts'
import { RunAnswers } from './run-answers.ts'
import { Trail, toLastMessage } from './trail.ts'

const NONE = Object.freeze([])

/**
 * State shared by all views of one run: all that changes while it runs. Most runs never need most of it, and it is then
 * not created.
 */
export class RunState {
  readonly #runId: string
  readonly agentVersion: string
  readonly clientTools: readonly ToolDefinition[]
  readonly isTrailLost: boolean
  readonly #sink: RunEventSink | undefined
  readonly #given: Pick<Turn, 'answers' | 'pending'>
  #usage: Usage | undefined
  #incompleteReason: string | undefined
  #isEnded = false
  #isAborted = false
  #abortReason: unknown
  #controller: AbortController | undefined
  #text = ''
  #firstTextAtMs: number | undefined
  #attachments: Attachment[] | undefined
  #saidUpTo = 0
  #holdsText = false
  #trail: Trail | undefined
  #pending: PendingCall[] | undefined
  #refusal: HostError | undefined
  #answers: RunAnswers | undefined
  #openStreams: Set<() => void> | undefined

  constructor(
    runId: string,
    agentVersion: string,
    turn: Pick<Turn, 'clientTools' | 'isTrailLost' | 'onEvent' | 'answers' | 'pending'>,
  ) {
    this.#runId = runId
    this.agentVersion = agentVersion
    this.clientTools = turn.clientTools ?? NONE
    this.isTrailLost = turn.isTrailLost ?? false
    this.#sink = turn.onEvent
    this.#given = turn
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#isAborted) this.#controller.abort(this.#abortReason)
    }
    return this.#controller.signal
  }

  /** Ends the run early. Only the first reason counts. */
  abort(reason: unknown): void {
    if (this.#isAborted) return
    this.#isAborted = true
    this.#abortReason = reason
    this.#controller?.abort(reason)
  }

  get isAborted(): boolean {
    return this.#isAborted
  }

  /** Throws the reason once the run was aborted. */
  throwIfAborted(): void {
    if (this.#isAborted) throw this.#abortReason
  }

  /** Emits an event. The promise asks to wait before the next. */
  emit(event: RunEvent): void | Promise<void> {
    if (!this.#isEnded) return this.#sink?.(event)
  }

  /** Ends the events of the run; later ones are dropped. */
  end(status: RunStatus, reason: string | undefined): void {
    this.#notify({ type: 'end', status, reason })
    this.#isEnded = true
  }

  reportProgress(message: string): void {
    if (!this.#isAborted) this.#notify({ type: 'progress', message })
  }

  get usage(): Readonly<Usage> {
    return this.#usage ?? NO_USAGE
  }

  addUsage(added: Partial<Usage>): void {
    this.#usage ??= { ...NO_USAGE }
    addUsage(this.#usage, added)
    this.#notify({ type: 'usage', usage: added })
  }

  get incompleteReason(): string | undefined {
    return this.#incompleteReason
  }

  markIncomplete(reason: string): void {
    this.#incompleteReason ??= reason
  }

  /** Whole text so far. */
  get text(): string {
    return this.#text
  }

  get attachments(): readonly Attachment[] {
    return this.#attachments ?? NONE
  }

  say(text: string): void | Promise<void> {
    this.#text += text
    if (!this.#holdsText) return this.#send(text)
  }

  /** Text that went out; text that is held is not part of it. */
  get sentText(): string {
    return this.#holdsText ? '' : this.#text
  }

  /** Time of the first text that went out, by `performance.now()`; undefined while there is none. */
  get firstTextAtMs(): number | undefined {
    return this.#firstTextAtMs
  }

  /** Holds the text back until {@link sendText}; reasoning is not shown at all. */
  holdText(): void {
    this.#holdsText = true
  }

  get holdsText(): boolean {
    return this.#holdsText
  }

  /** Sends this as the text of the whole answer, instead of the held text. */
  sendText(text: string): void | Promise<void> {
    if (text !== this.#text) this.dropText()
    this.#text = text
    this.#holdsText = false
    if (text !== '') return this.#send(text)
  }

  /** Drops the held text, also in the trail. */
  dropText(): void {
    this.#text = ''
    this.#saidUpTo = 0
    this.#trail?.dropTexts()
  }

  attach(attachment: Attachment): void | Promise<void> {
    this.#attachments ??= []
    this.#attachments.push(attachment)
    return this.emit({ type: 'attachment', attachment })
  }

  get trail(): Trail {
    this.#trail ??= new Trail(() => this.#takeSaid())
    return this.#trail
  }

  /** Returns the messages that the run has added to its conversation. For use after the end of the run only. */
  addedMessages(): Message[] {
    return this.#trail ? this.#trail.messages(this.attachments) : toLastMessage(this.#text, this.attachments)
  }

  get pending(): readonly PendingCall[] {
    return this.#pending ?? NONE
  }

  /** Returns the calls that the run waits for, with earlier decisions on their nested calls. Only for use after the end of the run. */
  pendingWithDecisions(): readonly PendingCall[] {
    if (!this.#given.answers && !this.#given.pending) return this.pending
    return this.pending.map((pending) => {
      const decided = this.answers.keptFor(pending.callId)
      return decided.length > 0 ? { ...pending, decided } : pending
    })
  }

  get isWaiting(): boolean {
    return this.#pending !== undefined
  }

  /** Has the run end waiting for an answer to this call. Returns the error that ends its handler. */
  wait(call: PendingCall): RunWaits {
    this.#pending ??= []
    // One question at a time: the tool of the call runs again after the answer, and then asks the next.
    if (!this.isWaitingFor(call.callId)) {
      const pending = { ...call, runId: this.#runId }
      this.#pending.push(pending)
      this.#notify({ type: 'pending', pending })
    }
    return RUN_WAITS
  }

  /** Id of the waiting run that this one continues; null for any other. */
  get continues(): string | null {
    return this.#given.pending?.[0]?.runId ?? null
  }

  isWaitingFor(callId: string): boolean {
    return this.pending.some((pending) => pending.callId === callId)
  }

  /** Answers given to the run, and their use. */
  get answers(): RunAnswers {
    this.#answers ??= new RunAnswers(this.#given.answers ?? NONE, this.#given.pending ?? NONE)
    return this.#answers
  }

  /** Fails the run with the error of the request, even if its handler catches it. */
  refuse(message: string, field?: string): HostError {
    this.#refusal ??= new HostError('REQUEST_INVALID', message, { field })
    return this.#refusal
  }

  throwIfRefused(): void {
    if (this.#refusal) throw this.#refusal
  }

  /** Remembers a stream until it has ended, so that one that nobody reads is closed with the run. */
  trackStream(close: () => void): () => void {
    this.#openStreams ??= new Set()
    this.#openStreams.add(close)
    return () => this.#openStreams?.delete(close)
  }

  closeStreams(): void {
    for (const close of this.#openStreams ?? []) close()
  }

  #send(text: string): void | Promise<void> {
    this.#firstTextAtMs ??= performance.now()
    return this.emit({ type: 'text', text })
  }

  /** An event that nobody waits for. A sink that fails ends the run. */
  #notify(event: RunEvent): void {
    try {
      const taken = this.emit(event)
      if (taken) taken.catch((error: unknown) => this.abort(error))
    } catch (error) {
      this.abort(error)
    }
  }

  #takeSaid(): string {
    const said = this.#text.slice(this.#saidUpTo)
    this.#saidUpTo = this.#text.length
    return said
  }
}
