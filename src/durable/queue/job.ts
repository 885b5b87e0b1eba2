import type { WaitingOptions } from '../../host/waiting-run.ts'
import { type AttachmentJson, fromAttachmentJson, toAttachmentJson } from '../../run/attachment-json.ts'
import type { RunEvent } from '../../run/run-event.ts'
import type { PendingAnswer } from '../../run/waiting/pending-call.ts'
import { parseRow, ROW_VERSION } from '../rows/parse-row.ts'

/**
 * Record of what any server needs to carry out a run, or to continue it, beside its turn: the conversation is read from the tree of
 * turns, so the record has the same size wherever the turn stands.
 */
export interface Job {
  /** Name of the agent in the request: `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  readonly options: WaitingOptions
  /** Answers to the calls that the turn before waits for. */
  readonly answers?: readonly PendingAnswer[] | undefined
  /** See `Turn.answersTo`. */
  readonly answersTo?: string | undefined
  /** Leaves out the oldest turns that the limits have no room for. */
  readonly isTruncated?: boolean
  /** Types of the events that become steps. */
  readonly shows: readonly EventType[]
  /** Seals the reasoning for the client, which keeps it until its next request. */
  readonly sealsReasoning?: boolean | undefined
  /** Allows it to begin again even after it has said or done something. */
  readonly isRestartSafe: boolean
  /** Seconds after which its approvals expire; absent: never. */
  readonly approvalTtl?: number | undefined
}

type EventType = RunEvent['type']

/** Types of the events that an answer consists of. */
export const ANSWER_EVENTS: readonly EventType[] = ['text', 'attachment', 'pending']
/** Types of the events of the agent's own calls. */
export const CALL_EVENTS: readonly EventType[] = ['tool_call', 'tool_result']
/** Types of the events of a run that goes on after a decision, for the client that decided. */
export const SHOWN_AFTER_DECISION: readonly EventType[] = [...ANSWER_EVENTS, ...CALL_EVENTS]

/** Types of the events of a run that an adapter of any protocol may show. */
export const ADAPTER_EVENTS: readonly EventType[] = ['reasoning', ...SHOWN_AFTER_DECISION]

type AnswerJson =
  | Exclude<PendingAnswer, { kind: 'client_tool' }>
  | {
      readonly callId: string
      readonly kind: 'client_tool'
      readonly result: { readonly text: string; readonly isError?: boolean; readonly attachments?: AttachmentJson[] }
    }

interface JobRow extends Omit<Job, 'answers'> {
  readonly answers?: readonly AnswerJson[]
}

const JOB = { agent: 'string', options: 'object', shows: 'array' } as const

export function writeJob({ answers, ...job }: Job): string {
  return JSON.stringify({ version: ROW_VERSION, ...job, answers: answers?.map(toAnswerJson) })
}

/**
 * Reads a job.
 *
 * @param id of the run
 * @throws HostError `RECORD_UNREADABLE` for a job of a newer version, or one that is damaged
 */
export function readJob(id: string, text: string): Job {
  const { version: _version, answers, ...job } = parseRow<JobRow>(id, text, JOB)
  return answers ? { ...job, answers: answers.map(fromAnswerJson) } : job
}

/** Returns what goes on after a run that waits: `tool_choice` is left out, as it would demand the call again. */
export function toNextJob({ options, answersTo: _answersTo, ...job }: Job, answers: readonly PendingAnswer[]): Job {
  const { toolChoice: _toolChoice, ...requestOptions } = options.requestOptions ?? {}
  return { ...job, options: { ...options, requestOptions, background: true }, answers }
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
