import { fieldsOf, HostError, type Message, type OpenCall, type PendingAnswer, type StoredRunInfo } from 'agent-host'
import { readAnswers } from './read-answers.ts'
import { type ContentRules, invalid, readContent } from './read-content.ts'
import type { ClientMessage, RunAgentInput } from './run-input.ts'

/** The part of a thread that a client adds to what is stored. */
export interface AddedTurn {
  readonly messages: readonly Message[]
  readonly answers: readonly PendingAnswer[] | undefined
}

/**
 * Returns what a client adds to its thread. What is stored wins: of the client's messages, those count that come after the last one that
 * the thread knows, and results of tools only for calls that are open. Undefined where it adds nothing: it asks for what happened meanwhile.
 *
 * @param latest run of the thread; undefined for a thread that is not stored
 * @throws HostError `REQUEST_INVALID` for a message over calls that are open, and for none; `APPROVAL_NOT_FOUND` for an answer to nothing
 */
export function readTurn(
  { messages, resume = [] }: Pick<RunAgentInput, 'messages' | 'resume'>,
  latest: Pick<StoredRunInfo, 'open' | 'data'> | undefined,
  rules: ContentRules,
): AddedTurn | undefined {
  const read = (added: readonly ClientMessage[]) => added.flatMap((message) => toMessages(message, rules))
  if (!latest) {
    if (resume.length > 0) throw new HostError('APPROVAL_NOT_FOUND', 'No such call waits')
    return { messages: requireUser(read(messages)), answers: undefined }
  }
  const added = read(listNew(messages, latest.data)).filter(({ role }) => role !== 'assistant')
  const answers = [...readAnswers(resume, latest.open), ...readResults(messages, latest.open, rules)]
  if (added.some(({ role }) => role === 'user')) return { messages: added, answers: whole(answers, latest.open) }
  if (answers.length > 0) return { messages: [], answers }
  if (resume.length > 0) return undefined
  whole(answers, latest.open)
  // A client that sends a message again asks again.
  return { messages: requireUser(read(messages.slice(-1))), answers: undefined }
}

/** Returns the JSON that a run keeps, so that the next request tells what it adds. */
export function keptOf({ messages }: Pick<RunAgentInput, 'messages'>): { readonly last: string | null } {
  return { last: messages.at(-1)?.id ?? null }
}

function listNew(messages: readonly ClientMessage[], data: unknown): readonly ClientMessage[] {
  const { last } = fieldsOf(data)
  const known = messages.findLastIndex(({ id }) => id === last)
  // A client that has forgotten it has the answer, or an answer before.
  return messages.slice((known < 0 ? messages.findLastIndex(({ role }) => role === 'assistant') : known) + 1)
}

/** Calls and their results are the server's to say. */
function toMessages(message: ClientMessage, rules: ContentRules): Message[] {
  const { role } = message
  if (role === 'user') return [{ role, ...readContent(message, rules) }]
  const content = typeof message.content === 'string' ? message.content : ''
  if (role === 'system' || role === 'developer') return [{ role: 'system', content }]
  return role === 'assistant' && content !== '' ? [{ role, content }] : []
}

function readResults(
  messages: readonly ClientMessage[],
  open: readonly OpenCall[],
  rules: ContentRules,
): PendingAnswer[] {
  return open.flatMap(({ call: { kind, callId } }): PendingAnswer[] => {
    const message =
      kind === 'client_tool'
        ? messages.findLast(({ role, toolCallId }) => role === 'tool' && toolCallId === callId)
        : undefined
    if (!message) return []
    const { content, ...more } = readContent(message, rules)
    const { error } = message
    const text = error === undefined || content.includes(error) ? content : `${content}\n${error}`.trim()
    return [{ callId, kind: 'client_tool', result: { text, ...more, isError: error !== undefined } }]
  })
}

/** @throws HostError `REQUEST_INVALID` where a message comes before the answers that the thread waits for, or beside those of a person */
function whole(answers: readonly PendingAnswer[], open: readonly OpenCall[]): readonly PendingAnswer[] | undefined {
  const { id, call } = open.find((each) => !answers.some(({ callId }) => callId === each.call.callId)) ?? {}
  if (call?.kind === 'client_tool') {
    throw invalid(
      `messages: the call '${call.callId}' of '${call.name}' waits for its result, as a message of the role 'tool'.`,
    )
  }
  if (call)
    throw invalid(`resume: the thread waits for an answer to '${id}'. Send it, or cancel it, before the next message.`)
  if (answers.some(({ kind }) => kind !== 'client_tool')) {
    throw invalid('messages: send the answers of resume first, and the next message in a run after that.')
  }
  return answers.length > 0 ? answers : undefined
}

/** @throws HostError `REQUEST_INVALID` */
function requireUser(messages: readonly Message[]): readonly Message[] {
  if (messages.at(-1)?.role === 'user') return messages
  throw invalid('messages must end with a message of the user.')
}
