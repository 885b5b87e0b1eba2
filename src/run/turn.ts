import type { Attachment, Message } from '../protocols/message.ts'
import type { ModelOptions } from '../protocols/model-options.ts'
import type { Question, Usage } from '../protocols/run.ts'
import type { ToolDefinition } from '../protocols/tool-definition.ts'
import type { VariantChange } from '../wire/variant.ts'
import type { RunEventSink, RunStatus } from './run-event.ts'
import type { PendingAnswer, PendingCall } from './waiting/pending-call.ts'

/** One turn of a conversation with an agent. */
export interface Turn {
  /** Of the run, a UUID; a new one when left out. */
  readonly runId?: string | undefined
  /**
   * Oldest first; the last message of the user is the one that is handled. A conversation that goes on after waiting ends with the
   * trail of the run that waited.
   */
  readonly messages: readonly Message[]
  /** Answers to the open tool calls of `messages`; calls without an answer keep waiting. */
  readonly answers?: readonly PendingAnswer[] | undefined
  /**
   * Calls that the run before waited for. Left out, the host finds them again from `messages`, and earlier decisions and answers
   * under the same call are lost.
   */
  readonly pending?: readonly PendingCall[] | undefined
  /**
   * Id of the run whose calls `messages` ends with the outputs of, where the client sends the conversation itself: traces show both as
   * one conversation.
   */
  readonly answersTo?: string | undefined
  readonly instructions?: string | undefined
  readonly user?: string | undefined
  /** Tenant that the run belongs to; '', the default, for none. See `run.tenant`. */
  readonly tenant?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  /** Name of the conversation that the turn is of, for traces: its id, or that of its first run. */
  readonly conversation?: string | undefined
  /**
   * W3C `traceparent` of the caller: its spans become part of that trace. A background run has a trace of its own, with a
   * link to it.
   */
  readonly traceparent?: string | undefined
  /** Its caller does not wait for it: it takes a slot of those for background runs. */
  readonly background?: boolean | undefined
  /** Arguments of an agent that is called by its own `input` schema. */
  readonly input?: Readonly<Record<string, unknown>> | undefined
  /** Options that the client sent for the model. */
  readonly requestOptions?: Readonly<ModelOptions> | undefined
  /** Maximum number of calls of the agent's own tools; further ones fail, and the model reads why. */
  readonly maxToolCalls?: number | undefined
  /** Seconds in which a person has to decide, where the agent allows more, or names no time. */
  readonly ttlSeconds?: number | undefined
  /** Tools that the client runs itself. */
  readonly clientTools?: readonly ToolDefinition[] | undefined
  /**
   * Says that the trail is not kept: of a step that calls own and client tools at once only the client's calls go out, and the
   * model asks for the others again. Default: false.
   */
  readonly isTrailLost?: boolean | undefined
  /** Changed values of the agent's configs. `host.run` plans such a variant itself, for others `host.openVariant` does. */
  readonly variant?: readonly VariantChange[] | undefined
  /** Answers questions of tools at once, in the place of a run that ends waiting: for a program with a person before it. */
  readonly onQuestion?: ((question: Question) => Promise<unknown>) | undefined
  /** Receives events as they happen; never called before the run is returned. */
  readonly onEvent?: RunEventSink | undefined
  /**
   * Instances to take for this run instead of the agent's own, by module id; `__response__`, `__conversation__` and `__storage__` too.
   * The links among agent-scoped modules stay as they are.
   */
  readonly overrides?: Readonly<Record<string, object>> | undefined
}

/**
 * Result of a run that has ended well.
 *
 * @example
 * ```ts
 * export const waiting: RunResult = {
 *   runId: '01994c3e-5a70-7d6b-8f3a-2b9c1d4e5f60',
 *   status: 'waiting',
 *   text: '',
 *   attachments: [],
 *   usage: { inputTokens: 120, outputTokens: 18, cachedInputTokens: 0, reasoningTokens: 0 },
 *   incompleteReason: undefined,
 *   pending: [
 *     {
 *       callId: 'call_1',
 *       runId: '01994c3e-5a70-7d6b-8f3a-2b9c1d4e5f60',
 *       kind: 'approval',
 *       name: 'refund',
 *       arguments: { order: 'A-1002', euros: 20 },
 *       digest: '6f1c...',
 *       schema: { type: 'object', properties: { order: { type: 'string' }, euros: { type: 'number' } } },
 *     },
 *   ],
 *   trail: [
 *     { role: 'user', content: 'Refund 20 euros for A-1002.' },
 *     {
 *       role: 'assistant',
 *       content: '',
 *       toolCalls: [{ id: 'call_1', name: 'refund', arguments: { order: 'A-1002', euros: 20 } }],
 *     },
 *   ],
 * }
 * ```
 */
export interface RunResult {
  readonly runId: string
  readonly status: 'completed' | 'waiting'
  readonly text: string
  readonly attachments: readonly Attachment[]
  readonly usage: Readonly<Usage>
  /** Reason why the agent stopped before its answer was complete; undefined when it is. */
  readonly incompleteReason: string | undefined
  /** The one of `requestOptions.stop`, or of the agent's own, that ended the text, where the vendor of the model says which. */
  readonly stopSequence?: string
  /** Calls that the run waits for; empty unless it is waiting. */
  readonly pending: readonly PendingCall[]
  /** The messages of the turn, followed by those of the run: texts, reasoning, tool calls and their results. */
  readonly trail: readonly Message[]
}

/** Run under way. */
export interface RunHandle {
  readonly id: string
  /**
   * Fulfilled when the run has ended, its instances are disposed, and all events are given out.
   *
   * @throws HostError `AGENT_FAILED` (`cause` is the agent's error), `RUN_ABORTED`, `REQUEST_INVALID`, `OUTPUT_INVALID`
   */
  readonly result: Promise<RunResult>
  /** Ends the run early: its signal aborts, and `result` fails at once, whatever the agent does. */
  abort(reason?: unknown): void
}

/** Summary of a finished run. */
export interface RunEnd {
  readonly runId: string
  readonly agentId: string
  /** '' for a run that belongs to no tenant. */
  readonly tenant: string
  /** Run that began this one; undefined for a run that a client began. */
  readonly parentRunId: string | undefined
  readonly entryPoint: string
  /** Unix time in seconds, with fractions. */
  readonly startedAt: number
  readonly durationMs: number
  readonly status: RunStatus
  readonly usage: Readonly<Usage>
  /** Text that was sent. What a guard blocked or held back is not part of it. */
  readonly text: string
  readonly attachments: readonly Attachment[]
  /** From the start of the run to its first text; undefined when none was sent. */
  readonly firstTextMs: number | undefined
  /** Reason why a completed run stopped before its answer was complete; undefined when it is. */
  readonly incompleteReason: string | undefined
  /** Calls that the run waits for; empty unless it is waiting. */
  readonly pending: readonly PendingCall[]
}
