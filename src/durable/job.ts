import {
  type AttachmentJson,
  fromAttachmentJson,
  fromMessageJson,
  type MessageJson,
  toAttachmentJson,
  toMessageJson,
} from '../run/attachment-json.ts'
import type { PendingAnswer } from '../run/pending-call.ts'
import type { RunEvent } from '../run/run-event.ts'
import type { Turn } from '../run/turn.ts'
import { parseRow, ROW_VERSION } from './parse-row.ts'

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

export function writeJob({ turn, ...job }: Job): string {
  const { answers, messages, ...rest } = turn
  const json = { ...rest, messages: messages.map(toMessageJson), answers: answers?.map(toAnswerJson) }
  return JSON.stringify({ version: ROW_VERSION, ...job, turn: json })
}

interface TurnJson extends Omit<Job['turn'], 'messages' | 'answers'> {
  readonly messages: readonly MessageJson[]
  readonly answers?: readonly AnswerJson[]
}

/**
 * @param id of the run
 * @throws HostError `RECORD_UNREADABLE` for a job of a newer version, or one that is damaged
 */
export function parseJob(id: string, text: string): Job {
  const { version: _version, turn, ...job } = parseRow<Omit<Job, 'turn'> & { turn: TurnJson }>(id, text)
  const { answers, messages, ...rest } = turn
  const read = { ...rest, messages: messages.map(fromMessageJson) }
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
