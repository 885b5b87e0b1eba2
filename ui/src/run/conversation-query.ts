import { useEffect, useState } from 'preact/hooks'
import type { RunOutcome } from '../../../src/trace/files/end-event.ts'
import { ask } from '../api.ts'
import { fieldsOf, type ModelMessage, readMessage, readToolCall } from '../components/model-message.ts'

const MAX_TOOLS = 200
const MAX_PICTURES = 20
const MAX_PIECES = 5000
const QUERY = `query($id: String!, $entry: String!) { run(run_id: $id) {
  asked: events(first: 1, call_id: $entry, event_type: "call") { events { arguments } }
  history: events(first: 1, method_name: "getHistory", event_type: "result") { events { result } }
  tools: events(first: ${MAX_TOOLS}, method_name: "executeTool") { has_more events {
    index event_type call_id parent_call_id duration_ms arguments result exception is_aborted is_waiting
  } }
  said: events(first: ${MAX_PIECES}, module_id: "__response__", method_name: "respondText", event_type: "call") {
    events { index arguments }
  }
  pictures: events(first: ${MAX_PICTURES}, method_name: "respondImage", event_type: "call") { events { arguments } }
  ended: events(first: 1, event_type: "end") { events { result } }
} }`

interface Said {
  readonly arguments: { readonly args: readonly unknown[] } | null
  readonly result: unknown
}

interface Piece extends Said {
  readonly index: number
}

interface ToolEvent extends Piece {
  readonly event_type: string
  readonly call_id: string
  readonly parent_call_id: string | null
  readonly duration_ms: number | null
  readonly exception: string | null
  readonly is_aborted: boolean
  readonly is_waiting: boolean
}

interface QueryData {
  readonly run: {
    readonly asked: { readonly events: readonly Said[] }
    readonly history: { readonly events: readonly Said[] }
    readonly tools: { readonly has_more: boolean; readonly events: readonly ToolEvent[] }
    readonly said: { readonly events: readonly Piece[] }
    readonly pictures: { readonly events: readonly Said[] }
    readonly ended: { readonly events: readonly { readonly result: RunOutcome | null }[] }
  } | null
}

/** Place of a picture in a text for models without pictures. */
const PLACE = /\[attachment: [^\]\s]+\]/g

/** Call of a tool as a reader of the conversation sees it. */
export interface ToolTurn {
  readonly kind: 'tool'
  /** Of its first event in this run. */
  readonly index: number
  /** Of the call in this run; empty for one of an earlier turn. */
  readonly callId: string
  readonly name: string
  readonly args: unknown
  readonly state: 'running' | 'done' | 'failed' | 'stopped' | 'waiting'
  /** Text, or the message of the failure. */
  readonly content: unknown
  readonly attachments: unknown
  readonly durationMs: number | null
}

export interface TextTurn {
  readonly kind: 'text'
  readonly role: string
  readonly text: string
  readonly attachments: unknown
}

export type ConversationTurn = ToolTurn | TextTurn

export interface Conversation {
  readonly turns: readonly ConversationTurn[]
  /** Number of turns that were there before this run. */
  readonly earlier: number
  /** Names of what was sent beside the text. */
  readonly files: readonly string[]
  /** More tools were called than are shown. */
  readonly isCut: boolean
}

/** Reads the conversation of a run, and again as the run grows. */
export function useConversation(runId: string, entryCall: string, size: number) {
  const [conversation, setConversation] = useState<Conversation>()
  const [error, setError] = useState('')
  useEffect(() => {
    const leave = new AbortController()
    ask<QueryData>(QUERY, { id: runId, entry: entryCall }, leave.signal).then(
      ({ run }) => setConversation(run ? readConversation(run) : { turns: [], earlier: 0, files: [], isCut: false }),
      (failure: Error) => leave.signal.aborted || setError(failure.message),
    )
    return () => leave.abort()
  }, [runId, entryCall, size])
  return { conversation, error }
}

function readConversation({
  asked,
  history,
  tools,
  said,
  pictures,
  ended,
}: NonNullable<QueryData['run']>): Conversation {
  const before = history.events[0]?.result
  const known = turnsOf(Array.isArray(before) ? before.map(readMessage) : [])
  const question = asked.events[0]?.arguments?.args[0]
  const last = known.at(-1)
  const isLastAsked = last?.kind === 'text' && last.role === 'user' && last.text === question
  const asking: TextTurn[] =
    typeof question === 'string' && question !== '' && !isLastAsked
      ? [{ kind: 'text', role: 'user', text: question, attachments: undefined }]
      : []
  const outcome = ended.events[0]?.result
  const sent = pictures.events.map((each) => each.arguments?.args[0])
  const files = (outcome?.attachments ?? []).filter(
    (file) => !(sent.length > 0 && file.media_type.startsWith('image/')),
  )
  return {
    turns: [...known, ...asking, ...answerOf(toolsOf(tools.events), said.events, outcome?.text, sent)],
    earlier: isLastAsked ? known.length - 1 : known.length,
    files: files.map(({ name, media_type }) => name ?? media_type),
    isCut: tools.has_more,
  }
}

/** Tools and texts as they came; the text that was sent stands last where a guard held or changed it. */
function answerOf(
  tools: readonly ToolTurn[],
  said: readonly Piece[],
  sent: string | undefined,
  pictures: readonly unknown[],
): ConversationTurn[] {
  const pieces = said.map(({ index, arguments: given }) => ({ index, text: String(given?.args[0] ?? '') }))
  const isAsSaid = sent === undefined || pieces.map(({ text }) => text).join('') === sent
  const texts = isAsSaid ? pieces : sent === '' ? [] : [{ index: Number.POSITIVE_INFINITY, text: sent }]
  const turns: ConversationTurn[] = []
  let text = ''
  const endText = () => {
    if (text.trim() !== '') turns.push({ kind: 'text', role: 'assistant', text: text.trim(), attachments: undefined })
    text = ''
  }
  const inOrder = [...tools, ...texts].sort((one, other) => one.index - other.index)
  for (const each of inOrder) {
    if ('text' in each) text += each.text
    else {
      endText()
      turns.push(each)
    }
  }
  endText()
  if (pictures.length === 0) return turns
  return [...turns, { kind: 'text', role: 'assistant', text: '', attachments: pictures }]
}

/** Messages as turns: the result of a tool stands with its call. */
function turnsOf(messages: readonly ModelMessage[]): ConversationTurn[] {
  const results = new Map(messages.flatMap((each) => (each.role === 'tool' ? [[each.toolCallId, each] as const] : [])))
  return messages.flatMap(({ role, content, toolCalls, attachments }): ConversationTurn[] => {
    if (role === 'tool' || role === 'system') return []
    const hasMore = Array.isArray(attachments) && attachments.length > 0
    const words = hasMore ? content.replaceAll(PLACE, '').trim() : content
    const text: TextTurn[] = words === '' && !hasMore ? [] : [{ kind: 'text', role, text: words, attachments }]
    const calls = toolCalls.map(({ id, name, arguments: args }): ToolTurn => {
      const result = results.get(id)
      const state = result ? 'done' : 'waiting'
      const shared = { kind: 'tool', index: -1, callId: '', name, args, state, durationMs: null } as const
      return { ...shared, content: result?.content, attachments: result?.attachments }
    })
    return [...text, ...calls]
  })
}

/** The tools that the run called, without those that passed a call on to another provider. */
function toolsOf(events: readonly ToolEvent[]): ToolTurn[] {
  const ends = new Map(events.flatMap((each) => (each.event_type === 'call' ? [] : [[each.call_id, each] as const])))
  const begun = events.filter(({ event_type }) => event_type === 'call')
  const ids = new Set(begun.map(({ call_id }) => call_id))
  return begun
    .filter(({ parent_call_id: around }) => around === null || !ids.has(around))
    .map(({ index, call_id: callId, arguments: given }) => {
      const end = ends.get(callId)
      const { name } = readToolCall({ name: given?.args[0] })
      const result = fieldsOf(end?.result)
      return {
        kind: 'tool',
        index,
        callId,
        name,
        args: given?.args[1] ?? {},
        state: stateOf(end),
        content: end?.exception?.split('\n', 1)[0] ?? result.data ?? result.text,
        attachments: result.attachments,
        durationMs: end?.duration_ms ?? null,
      }
    })
}

function stateOf(end: ToolEvent | undefined): ToolTurn['state'] {
  if (!end) return 'running'
  if (end.is_waiting) return 'waiting'
  if (end.is_aborted) return 'stopped'
  return end.exception === null ? 'done' : 'failed'
}
