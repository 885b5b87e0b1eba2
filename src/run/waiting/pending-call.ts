import { hash } from 'node:crypto'
import { withoutStack } from '../../errors.ts'
import { toSortedJson } from '../../json.ts'
import type { ClientTool } from '../../protocols/tool-definition.ts'
import type { ToolResult } from '../../protocols/tool-provider.ts'
import type { AttachmentJson, MessageJson } from '../attachment-json.ts'

/** Call of a tool that a run waits for. */
export interface PendingCall {
  /** Of the tool call in the trail; of the call of a child, an id of its own. */
  readonly callId: string
  /** Tool call in the trail whose child asks for this; absent for a call of the run itself. */
  readonly within?: string
  /** Run that waits, set by the host. Handed back with the call, it links the run that continues in traces. */
  readonly runId?: string
  /** Module that executes the tool call, set by the host, because two modules may have a tool of the same name. Absent for a client's tool. */
  readonly moduleId?: string
  readonly kind: 'client_tool' | 'approval' | 'question'
  /** Name of the tool: the client's, the one to approve, or the one that asks. */
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** Tool of the client, where the client knows it by another name or form. */
  readonly client?: ClientTool
  /** JSON Schema that the answer must fit: of edited arguments, or of the answer to a question. */
  readonly schema?: Readonly<Record<string, unknown>>
  /** Binds an approval to the exact call: SHA-256 (hex) of tool name, arguments and version of the agent. */
  readonly digest?: string
  /** The question, of kind `question`. */
  readonly message?: string
  /** Page of another site that answers the question: `state` in its query comes back with the answer. */
  readonly url?: string
  /** Answers to earlier questions of the same call, in the order of asking. */
  readonly earlierAnswers?: readonly unknown[]
  /** Called agent that makes this call; absent for a call of the run itself. */
  readonly asker?: Asker
  /** Run of another agent that waits for this and what follows with the same `within`: the tool of that call began it. */
  readonly child?: WaitingChild
  /** Earlier decisions about this call, and about calls made by its tool. */
  readonly decided?: readonly EarlierDecision[]
  /** Time after which it expires, by the agent's `approval_ttl`, and those of the agents that called it; absent for one that does not. */
  readonly ttlSeconds?: number
  /** Calls of the same run that are answered already, with their answers: nothing is executed before the last of them has one. */
  readonly beside?: readonly AnsweredCall[]
}

/** Called agent whose run waits. */
export interface Asker {
  /** `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  readonly runId: string
  /** Ids of the agents that called it, the nearest first. */
  readonly askedBy: readonly string[]
}

/** Call that waits for others to be answered, too. */
export interface AnsweredCall {
  readonly call: PendingCall
  /** As JSON. */
  readonly answer:
    | Exclude<PendingAnswer, { readonly kind: 'client_tool' }>
    | {
        readonly callId: string
        readonly kind: 'client_tool'
        readonly result: Omit<ToolResult, 'attachments'> & { readonly attachments?: readonly AttachmentJson[] }
      }
}

/** Child run that waits, with everything that it needs to go on, as JSON. */
export interface WaitingChild {
  readonly runId: string
  /** `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  readonly pending: readonly PendingCall[]
  readonly trail: readonly MessageJson[]
  readonly input?: Readonly<Record<string, unknown>>
}

/** Decision of a person about a call. */
export interface CallDecision {
  readonly decision: 'approve' | 'reject' | 'edit'
  /** Shown to the model when the call is rejected. */
  readonly reason?: string
  /** Instead of the model's, with `edit`. */
  readonly arguments?: Readonly<Record<string, unknown>>
  /** Of the pending call; a call with another digest needs a new decision. */
  readonly digest?: string
  /** Name of the key, or of the place, that decided. */
  readonly by?: string
  /** Unix seconds. */
  readonly at?: number
}

/** Decision that was carried out, or is about to be. */
export interface EarlierDecision extends CallDecision {
  /** Result of a call that the code of a tool made. When the tool runs again it gets this, and the call is not executed again. */
  readonly result?: NestedResult
}

/** Result of a call that the code of a tool made, as JSON. */
export interface NestedResult extends Omit<ToolResult, 'attachments'> {
  readonly attachments?: readonly AttachmentJson[]
  /** True for a call that failed with this text. */
  readonly hasThrown?: boolean
  /** Number of questions that its code asked. */
  readonly questions: number
}

/** Answer to a pending call. */
export type PendingAnswer =
  | { readonly callId: string; readonly kind: 'client_tool'; readonly result: ToolResult }
  | ({ readonly callId: string; readonly kind: 'approval' } & CallDecision)
  | {
      readonly callId: string
      readonly kind: 'question'
      /** To every question of the call so far, in the order of asking. */
      readonly answers: readonly unknown[]
    }

/** Answer to a call that is named beside it. */
export type GivenAnswer = PendingAnswer extends infer Each
  ? Each extends unknown
    ? Omit<Each, 'callId'>
    : never
  : never

/** Id of the tool call in the trail that a pending call belongs to. */
export function toolCallOf({ callId, within = callId }: Pick<PendingCall, 'callId' | 'within'>): string {
  return within
}

/** The calls that have no result yet: those that wait, and those that are answered beside them. */
export function openOf(pending: readonly PendingCall[]): readonly PendingCall[] {
  return pending.some(({ beside }) => beside)
    ? pending.flatMap((call) => [call, ...(call.beside ?? []).map(({ call: answered }) => answered)])
    : pending
}

/** Returns the `state` with which another site sends back the answer to a question; undefined for questions without such a page. */
export function stateOf({ url }: Pick<PendingCall, 'url'>): string | undefined {
  return url === undefined ? undefined : (URL.parse(url)?.searchParams.get('state') ?? undefined)
}

/**
 * Binds a decision to the exact call. The last answer to a question is the one that was checked against its schema: those before it are
 * what the call knows, whatever stands there.
 */
export function bindAnswer(answer: PendingAnswer, { digest, earlierAnswers = [] }: PendingCall): PendingAnswer {
  if (answer.kind === 'question') return { ...answer, answers: [...earlierAnswers, answer.answers.at(-1)] }
  return answer.kind === 'approval' && digest !== undefined ? { ...answer, digest } : answer
}

/** Digest that binds a decision to the exact call. */
export function digestOf(name: string, args: Readonly<Record<string, unknown>>, agentVersion: string): string {
  return hash('sha256', toSortedJson([name, args, agentVersion]))
}

/**
 * Ends the handler of a run that waits. Code of agents may catch it: the host goes by the state of the run, and models and tools
 * refuse further calls.
 */
export class RunWaits extends Error {
  constructor() {
    super('The run waits for an answer, and continues when it arrives.')
    this.name = 'RunWaits'
  }
}

/** Shared by all waiting runs: the error holds nothing about a single one. */
export const RUN_WAITS = Object.freeze(withoutStack(() => new RunWaits()))
