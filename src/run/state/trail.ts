import { isDeepStrictEqual } from 'node:util'
import type { CollectedAnswer } from '../../protocols/answer-parts.ts'
import type { Attachment, Message, RecordedDecision, ToolCall } from '../../protocols/message.ts'
import type { ToolResult } from '../../protocols/tool-provider.ts'
import { callsOf } from '../../wire/paired-calls.ts'
import type { AnswerOfCall } from '../run-event.ts'
import type { CallDecision } from '../waiting/pending-call.ts'
import { uniqueCall } from './unique-calls.ts'

/** Answer of a model, as its facade saw it. */
export interface ModelAnswer extends CollectedAnswer {
  calls: RecordedCall[]
}

/** Tool call of a run, with its outcome. */
export class RecordedCall {
  readonly call: ToolCall
  readonly answer: ModelAnswer
  result?: ToolResult
  isPending = false
  /** True once a caller executes it: the next one that names no id means another. */
  isClaimed = false
  /** True once it may have been executed. */
  hasBegun = false
  /** Module that executes it; undefined for a client's tool. */
  moduleId: string | undefined
  /** Decision that the call is executed by. */
  decision: CallDecision | undefined
  /** All decisions under the call, those about calls of its tool included. */
  #decisions: RecordedDecision[] | undefined

  constructor(call: ToolCall, answer: ModelAnswer) {
    this.call = call
    this.answer = answer
  }

  noteDecision(name: string, decided: CallDecision, isNested: boolean): void {
    if (!isNested) this.decision = decided
    const { decision, by, at } = decided
    if (by === undefined) return
    this.#decisions ??= []
    this.#decisions.push({ name, decision, by, ...(at === undefined ? {} : { at }) })
  }

  /** The message that answers the call; undefined for one that was not executed. */
  toMessage(): Message | undefined {
    const { result = this.hasBegun && !this.isPending ? outcomeUnknown(this.call.name) : undefined } = this
    if (!result) return undefined
    const message = toToolMessage(this.call.id, result)
    return this.#decisions ? { ...message, decisions: this.#decisions } : message
  }
}

/**
 * Typed messages that a run adds to its conversation. Calls enter it when they are executed, or waited for: a call that
 * a model merely proposed is not part of it.
 */
export class Trail {
  /** Calls that models have asked for, by id. */
  readonly #proposed = new Map<string, RecordedCall>()
  /** Calls of earlier runs that this one answers: their assistant message stands in the conversation already. */
  readonly #resumed: ModelAnswer = { text: '', reasoning: [], calls: [] }
  readonly #answers: ModelAnswer[] = []
  readonly #runId: string
  readonly #conversation: readonly Message[]
  readonly #readText: () => string
  /** Ids of the calls of the conversation, and of those that were proposed. */
  #usedIds: Set<string> | undefined
  /** Length of the text that stands in messages already. */
  #saidUpTo = 0
  /** Answers without calls. */
  readonly #finished: ModelAnswer[] = []
  /** Stop sequence that ended the last of the {@link messages}, once they are listed. */
  stopSequence: string | undefined

  /**
   * @param runId ids of calls begin with it: they are the same where the run is replayed
   * @param conversation messages that the run continues
   * @param readText returns the whole text of the run so far
   */
  constructor(runId: string, conversation: readonly Message[], readText: () => string) {
    this.#runId = runId
    this.#conversation = conversation
    this.#readText = readText
  }

  /**
   * Notes that a model proposed a call, under an id that no other call of the conversation has. A call seen twice, through a wrapping model,
   * counts once.
   */
  propose(proposed: ToolCall, answer: ModelAnswer): RecordedCall {
    this.#usedIds ??= new Set(this.#conversation.flatMap(callsOf).map(({ id }) => id))
    const call = this.#isPassedOn(proposed, answer) ? proposed : uniqueCall(proposed, this.#usedIds, this.#runId)
    const recorded = new RecordedCall(call, answer)
    answer.calls.push(recorded)
    this.#proposed.set(call.id, recorded)
    return recorded
  }

  /** Notes an answer without calls: its reasoning belongs to the text that the agent says next. */
  noteAnswer(answer: ModelAnswer): void {
    this.#finished.push(answer)
  }

  /** Adopts an open call of the conversation. */
  resume(call: ToolCall): RecordedCall {
    const recorded = new RecordedCall(call, this.#resumed)
    this.#resumed.calls.push(recorded)
    this.#proposed.set(call.id, recorded)
    return recorded
  }

  /** Adds a call that a guard holds for a person. */
  hold(call: ToolCall): void {
    const answer: ModelAnswer = { text: '', reasoning: [], calls: [] }
    this.propose(call, answer).isPending = true
    this.#answers.push(answer)
  }

  /** Removes all text so far: another text is sent. */
  dropTexts(): void {
    this.#saidUpTo = 0
    for (const answer of this.#answers) answer.text = ''
  }

  /**
   * Begins a call: the one that a model proposed, or a new one where the agent calls a tool on its own.
   *
   * @param callId undefined if the caller does not say which call it executes; then name and arguments identify it
   */
  begin(name: string, args: ToolCall['arguments'], callId: string | undefined): RecordedCall {
    const known = callId === undefined ? this.#match(name, args) : this.#proposed.get(callId)
    const isAnother = known?.result && !(known.call.name === name && isDeepStrictEqual(known.call.arguments, args))
    const recorded = known && !isAnother ? known : this.#invent(name, args, callId)
    this.#commit(recorded.answer)
    return recorded
  }

  /** True once a call was begun, or resumed. */
  get hasCalls(): boolean {
    return this.#resumed.calls.length > 0 || this.#answers.length > 0
  }

  /** The call that a model proposed with this id. */
  find(callId: string | undefined): RecordedCall | undefined {
    return callId === undefined ? undefined : this.#proposed.get(callId)
  }

  /** The answer that a begun call stands in; undefined for a call of an earlier run. */
  answerOf({ answer }: RecordedCall): AnswerOfCall | undefined {
    if (answer === this.#resumed) return undefined
    const { reasoning, providerMetadata } = answer
    return {
      index: this.#answers.indexOf(answer),
      ...(reasoning.length > 0 ? { reasoning } : {}),
      ...(providerMetadata ? { providerMetadata } : {}),
    }
  }

  /** The messages, oldest first. Calls that were neither executed nor waited for are left out. */
  messages(attachments: readonly Attachment[]): Message[] {
    const messages: Message[] = []
    pushResults(messages, this.#resumed)
    for (const answer of this.#answers) pushAnswer(messages, answer)
    messages.push(...this.#lastMessage(this.#takeSaid(), attachments))
    return messages
  }

  /** Tells whether a wrapping model passes on the call of another: with its arguments, before anything came of it. */
  #isPassedOn({ id, arguments: args }: ToolCall, answer: ModelAnswer): boolean {
    const known = this.#proposed.get(id)
    if (!known || known.result || known.isPending) return false
    return known.answer !== answer && known.call.arguments === args
  }

  #match(name: string, args: ToolCall['arguments']): RecordedCall | undefined {
    const open = [...this.#proposed.values()].filter((one) => !one.result && !one.isPending && !one.isClaimed)
    return open.find(({ call }) => call.name === name && isDeepStrictEqual(call.arguments, args))
  }

  #invent(name: string, args: ToolCall['arguments'], callId = ''): RecordedCall {
    const answer: ModelAnswer = { text: '', reasoning: [], calls: [] }
    return this.propose({ id: callId, name, arguments: args }, answer)
  }

  /** Text before a call belongs to the message of the call. */
  #commit(answer: ModelAnswer): void {
    if (answer === this.#resumed || this.#answers.includes(answer)) return
    const said = this.#takeSaid()
    if (answer.text === '') answer.text = said
    this.#answers.push(answer)
  }

  /** The text since the last call of this. */
  #takeSaid(): string {
    const text = this.#readText()
    const said = text.slice(this.#saidUpTo)
    this.#saidUpTo = text.length
    return said
  }

  #lastMessage(content: string, attachments: readonly Attachment[]): Message[] {
    // Not always the latest: the answer of a judge is not the agent's.
    const said = this.#finished.findLast(({ text }) => text.trim() === content.trim())
    const { reasoning = [], providerMetadata } = said ?? {}
    this.stopSequence = said?.stopSequence
    return toLastMessage(content, attachments).map((message) => ({
      ...message,
      ...(reasoning.length > 0 ? { reasoning } : {}),
      ...(providerMetadata ? { providerMetadata } : {}),
    }))
  }
}

/** Text and attachments after the last call, if any. */
export function toLastMessage(
  content: string,
  attachments: readonly Attachment[],
): Extract<Message, { role: 'assistant' }>[] {
  if (content === '' && attachments.length === 0) return []
  return [{ role: 'assistant', content, ...(attachments.length > 0 ? { attachments } : {}) }]
}

/** Adds the message of a model's answer, and those of its results. */
function pushAnswer(messages: Message[], answer: ModelAnswer): void {
  const { text: content, reasoning, providerMetadata, calls } = answer
  const toolCalls = calls.filter((call) => call.isPending || call.toMessage()).map(({ call }) => call)
  if (toolCalls.length === 0) {
    if (content !== '') messages.push({ role: 'assistant', content })
    return
  }
  messages.push({
    role: 'assistant',
    content,
    ...(reasoning.length > 0 ? { reasoning } : {}),
    toolCalls,
    ...(providerMetadata ? { providerMetadata } : {}),
  })
  pushResults(messages, answer)
}

function pushResults(messages: Message[], { calls }: ModelAnswer): void {
  for (const call of calls) {
    const message = call.toMessage()
    if (message) messages.push(message)
  }
}

/** Result of a call that had begun when its run ended. */
export function outcomeUnknown(name: string): ToolResult {
  return {
    text: `Outcome unknown: the run ended during the call of '${name}'. It may have been carried out.`,
    isError: true,
  }
}

/** Result of a call, as the message that answers it. */
export function toToolMessage(
  toolCallId: string,
  { text, attachments, isError }: ToolResult,
): Extract<Message, { role: 'tool' }> {
  return {
    role: 'tool',
    content: text,
    toolCallId,
    ...(attachments && attachments.length > 0 ? { attachments } : {}),
    ...(isError ? { isError } : {}),
  }
}
