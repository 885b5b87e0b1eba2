import type { Attachment, Message } from '../../protocols/message.ts'
import type { Usage } from '../../protocols/run.ts'
import { addUsage, NO_USAGE } from '../../protocols/usage.ts'
import type { RunEvent, RunStatus } from '../run-event.ts'
import type { Turn } from '../turn.ts'
import type { RunAbort } from './run-abort.ts'
import { Trail, toLastMessage } from './trail.ts'

const NONE = Object.freeze([])

/** Turn as its answer needs it. */
type AnsweredTurn = Pick<Turn, 'messages' | 'onEvent'>

/** The answer of a run: its events in order, and what they add up to. */
export class RunAnswer {
  readonly #runId: string
  readonly #turn: AnsweredTurn
  readonly #abort: RunAbort
  /** Stop sequence that ended the text, where its model says which; once the {@link addedMessages} are listed. */
  stopSequence: string | undefined
  #isEnded = false
  #usage: Usage | undefined
  #incompleteReason: string | undefined
  #text = ''
  #firstTextAtMs: number | undefined
  #attachments: Attachment[] | undefined
  #holdsText = false
  #trail: Trail | undefined

  constructor(runId: string, turn: AnsweredTurn, abort: RunAbort) {
    this.#runId = runId
    this.#turn = turn
    this.#abort = abort
  }

  /** Emits an event. Where it returns a promise, the next event waits for that. */
  emit(event: RunEvent): void | Promise<void> {
    if (!this.#isEnded) return this.#turn.onEvent?.(event)
  }

  /** Emits an event that nothing waits for. A sink that fails aborts the run. */
  notify(event: RunEvent): void {
    try {
      const taken = this.emit(event)
      if (taken) taken.catch((error: unknown) => this.#abort.request(error))
    } catch (error) {
      this.#abort.request(error)
    }
  }

  /** Ends the events of the run; later ones are dropped. */
  end(status: RunStatus, reason: string | undefined): void {
    this.notify({ type: 'end', status, reason })
    this.#isEnded = true
  }

  /** Says nothing while text is held: progress may contain it, as the answer of a called agent does. */
  reportProgress(message: string): void {
    if (!this.#abort.isRequested && !this.#holdsText) this.notify({ type: 'progress', message })
  }

  get usage(): Readonly<Usage> {
    return this.#usage ?? NO_USAGE
  }

  addUsage(added: Partial<Usage>): void {
    this.#usage ??= { ...NO_USAGE }
    addUsage(this.#usage, added)
    this.notify({ type: 'usage', usage: added })
  }

  get incompleteReason(): string | undefined {
    return this.#incompleteReason
  }

  markIncomplete(reason: string): void {
    if (typeof reason !== 'string') throw new TypeError(`markIncomplete takes a string, not ${typeof reason}.`)
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

  /** True while no text has gone out, and no tool was called: the run can be repeated. */
  get isUntouched(): boolean {
    return this.sentText === '' && this.attachments.length === 0 && !this.#trail?.hasCalls
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
    this.#trail?.dropTexts()
  }

  attach(attachment: Attachment): void | Promise<void> {
    this.#attachments ??= []
    this.#attachments.push(attachment)
    return this.emit({ type: 'attachment', attachment })
  }

  get trail(): Trail {
    this.#trail ??= new Trail(this.#runId, this.#turn.messages, () => this.#text)
    return this.#trail
  }

  /** Returns the messages that the run has added to its conversation. For use after the end of the run only. */
  addedMessages(): Message[] {
    if (!this.#trail) return toLastMessage(this.#text, this.attachments)
    const added = this.#trail.messages(this.attachments)
    this.stopSequence = this.#trail.stopSequence
    return added
  }

  #send(text: string): void | Promise<void> {
    this.#firstTextAtMs ??= performance.now()
    return this.emit({ type: 'text', text })
  }
}
