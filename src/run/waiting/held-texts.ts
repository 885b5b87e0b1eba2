import { randomUUID } from 'node:crypto'
import type { Message, ToolCall } from '../../protocols/message.ts'
import { callsOf } from '../../wire/paired-calls.ts'
import { digestOf, type PendingAnswer, type PendingCall } from './pending-call.ts'

/** Text that a guard holds until a person decides: the message of a user, or the answer of the agent. */
export type HeldName = 'accept_message' | 'send_answer'

/** Decision about a held text, as a conversation keeps it. */
export interface HeldDecision {
  readonly name: string
  /** Id of the guard. */
  readonly by: string
  /** Index of the user message that the text belongs to, among the user messages. */
  readonly userIndex: number
  /** The text as it was approved; undefined when it was rejected. */
  readonly text: string | undefined
  /** Sent in place of a rejected text. */
  readonly reply: string
}

const HELD_TEXT_SCHEMA = Object.freeze({
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
  additionalProperties: false,
})

/** The call by which a guard holds a text. It stands in the trail like the call of a tool, and no model sees it. */
export function makeHeldCall(name: HeldName, text: string, held: NonNullable<ToolCall['held']>): ToolCall {
  return { id: `call_${randomUUID()}`, name, arguments: { text }, held }
}

/** Pending call of a held text, until it is decided. */
export function toHeldPending({ id, name, arguments: args, held }: ToolCall, agentVersion: string): PendingCall {
  const digest = digestOf(name, args, agentVersion)
  const message = held?.reason ?? ''
  return { callId: id, kind: 'approval', name, arguments: args, schema: HELD_TEXT_SCHEMA, digest, message }
}

/** Result of a held call: the decision, for {@link partHeldTexts} to read. */
export function toHeldResult(answer: Extract<PendingAnswer, { kind: 'approval' }>): string {
  const { decision, arguments: edited } = answer
  return JSON.stringify(decision === 'edit' ? { decision, text: edited?.text } : { decision })
}

export function hasHeldCall(message: Message): boolean {
  return callsOf(message).some(({ held }) => held !== undefined)
}

/**
 * Parts a conversation from the calls of guards in it, and reads the decisions. The mark `held` can be trusted: no client can set
 * it. A call whose result is no decision, such as one that was superseded, is undecided.
 */
export function partHeldTexts(messages: readonly Message[]): { messages: Message[]; decisions: HeldDecision[] } {
  const held = new Map<string, { readonly call: ToolCall; readonly userIndex: number }>()
  const decisions: HeldDecision[] = []
  const others: Message[] = []
  let userIndex = -1
  for (const message of messages) {
    if (message.role === 'user') userIndex++
    const calls = hasHeldCall(message) ? callsOf(message) : []
    for (const call of calls) held.set(call.id, { call, userIndex })
    const asked = message.role === 'tool' ? held.get(message.toolCallId) : undefined
    const decision = asked && readDecision(asked.call, asked.userIndex, message.content)
    if (decision) decisions.push(decision)
    if (!asked && calls.length === 0) others.push(message)
  }
  return { messages: others, decisions }
}

function readDecision(
  { name, arguments: { text: proposed }, held }: ToolCall,
  userIndex: number,
  content: string,
): HeldDecision | undefined {
  const { decision, text: edited } = readObject(content)
  if (!held) return undefined
  const decided = { name, by: held.by, userIndex, reply: held.reply }
  if (decision === 'reject') return { ...decided, text: undefined }
  const text = decision === 'approve' ? proposed : decision === 'edit' ? edited : undefined
  return typeof text === 'string' ? { ...decided, text } : undefined
}

function readObject(json: string): { decision?: unknown; text?: unknown } {
  try {
    return JSON.parse(json) ?? {}
  } catch {
    return {}
  }
}
