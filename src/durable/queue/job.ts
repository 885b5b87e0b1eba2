import { type AttachmentJson, fromAttachmentJson, toAttachmentJson } from '../../run/attachment-json.ts'
import type { RunEvent } from '../../run/run-event.ts'
import type { PendingAnswer } from '../../run/state/pending-call.ts'
import type { Turn } from '../../run/turn.ts'
import type { RecordStore } from '../../store/record-store.ts'
import {
  bytesOfMessage,
  readStoredMessages,
  type StoredMessage,
  toStoredMessage,
} from '../conversations/stored-message.ts'
import { type NewBytes, placeOf } from '../conversations/turn-bytes.ts'
import { BYTES_VERSION, parseRow, ROW_VERSION } from '../parse-row.ts'

/** Description of a run that any server can carry out. */
export interface Job {
  /** Name of the agent in the request: `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  readonly turn: Omit<Turn, 'onEvent' | 'overrides'>
  /** Types of the events that become steps. */
  readonly shows: readonly RunEvent['type'][]
  /** Allows it to begin again even after it has said or done something. */
  readonly isRestartSafe: boolean
  /** Seconds after which its approvals expire; absent: never. */
  readonly approvalTtl?: number
}

type AnswerJson =
  | Exclude<PendingAnswer, { kind: 'client_tool' }>
  | {
      readonly callId: string
      readonly kind: 'client_tool'
      readonly result: { readonly text: string; readonly isError?: boolean; readonly attachments?: AttachmentJson[] }
    }

/** @param bytes those of the run's turn: the job refers to them, and to those of earlier turns */
export function writeJob({ turn, ...job }: Job, bytes: readonly NewBytes[]): string {
  const { answers, messages: given, ...rest } = turn
  const find = (data: Uint8Array) => bytes.find((own) => own.data === data) ?? placeOf(data)
  const messages = given.map((message) => toStoredMessage(message, find))
  const version = messages.some((message) => bytesOfMessage(message).length > 0) ? BYTES_VERSION : ROW_VERSION
  return JSON.stringify({ version, ...job, turn: { ...rest, messages, answers: answers?.map(toAnswerJson) } })
}

const JOB = { agent: 'string', turn: 'object', shows: 'array' } as const

interface TurnJson extends Omit<Job['turn'], 'messages' | 'answers'> {
  readonly messages: readonly StoredMessage[]
  readonly answers?: readonly AnswerJson[]
}

/**
 * Reads a job with the bytes of its messages.
 *
 * @param id of the run
 * @throws HostError `RECORD_UNREADABLE` for a job of a newer version, or one that is damaged
 */
export async function readJob(store: RecordStore, id: string, text: string): Promise<Job> {
  const { version: _version, turn, ...job } = parseRow<Omit<Job, 'turn'> & { turn: TurnJson }>(id, text, JOB)
  const { answers, messages, ...rest } = turn
  const read = { ...rest, messages: await readStoredMessages(store, messages) }
  return { ...job, turn: answers ? { ...read, answers: answers.map(fromAnswerJson) } : read }
}

function toAnswerJson(answer: PendingAnswer): AnswerJson {
  if (answer.kind !== 'client_tool') return answer
  const { attachments, ...result } = answer.result
  return { ...answer, result: { ...result, ...(attachments && { attachments: attachments.map(toAttachmentJson) }) } }
}

function fromAnswerJson(answer: AnswerJson): PendingAnswer {
  if (answer.kind !== 'client_tool') return answer
  const { attachments, ...result } = answer.result
  return { ...answer, result: { ...result, ...(attachments && { attachments: attachments.map(fromAttachmentJson) }) } }
}
