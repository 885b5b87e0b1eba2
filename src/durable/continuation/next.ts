import type { Message } from '../../protocols/message.ts'
import type { ToolDefinition } from '../../protocols/tool-definition.ts'
import type { Turn } from '../../run/turn.ts'
import { openOf, type PendingAnswer, type PendingCall, toolCallOf } from '../../run/waiting/pending-call.ts'
import { type ConversationRecord, claimConversation } from '../conversations/conversation-store.ts'
import { makeTurn, type StoredTurn, withAnswers } from '../conversations/conversation-tree.ts'
import { HistoryBudget, type HistoryLimits } from '../conversations/history-budget.ts'
import { truncate } from '../conversations/truncate.ts'
import { withoutUnseen } from '../conversations/without-unseen.ts'
import { type Claim, joinClaims } from '../decisions/claim.ts'
import type { TakenDecisions } from '../decisions/resumption.ts'
import type { IdempotentRequest } from '../idempotency/idempotent-requests.ts'
import { alreadyAnswered, claimContinued, wasCancelled } from '../runs/continued-mark.ts'
import { type RunFacts, SHOWN_AFTER_DECISION } from '../runs/run-facts.ts'
import { uuidOf } from '../runs/run-ids.ts'
import type { Draft } from '../runs/run-row.ts'
import { isMarked, unmarkWaiting } from '../runs/waiting-mark.ts'
import type { Before } from './before.ts'
import { type Joined, joinDecisions, keepsDecisions } from './join-decisions.ts'
import { findEndings, settle } from './settle.ts'

/** Request for the next run: messages, or answers to the calls that the run before waits for, and their sender. */
export interface Given extends Pick<RunFacts, 'adapter' | 'agent' | 'createdAt' | 'options' | 'data' | 'own' | 'key'> {
  /** Of the next run. */
  readonly id: string
  /** '' for the nameless one. */
  readonly tenant: string
  /** Messages that the run adds to the conversation. Without any the run goes on with the answers. */
  readonly messages: readonly Message[]
  /** With messages: outputs of the client's tools alone, which stand before them. */
  readonly answers?: readonly PendingAnswer[] | undefined
  /** Sender, who may decide. */
  readonly by: string
  /** True for a run that only one may continue. Otherwise outputs of a client's tools may fork, as conversations do. */
  readonly isOnce?: boolean
  /** True for a run that goes on after decisions, without a request of its client. */
  readonly isUnasked?: boolean
  /** See `Turn.isTrailLost`. */
  readonly isTrailLost?: boolean | undefined
  /** Conversation to which the run is added, as it was read. */
  readonly named?: ConversationRecord | undefined
  /** Tools that clients have added to the conversation so far, these included. */
  readonly tools?: readonly ToolDefinition[]
  /** Input as the client sent it, for it to read again. */
  readonly items?: readonly unknown[]
  readonly idempotency?: IdempotentRequest | undefined
}

/** Rules of the server and of the agent for what it sees of a conversation. */
export interface SightRules {
  readonly limits: HistoryLimits
  /** Media types that the agent takes, such as `image/*`. */
  readonly attachments: readonly string[]
}

/** Run that goes on, or begins: what is stored of it, and the turn that its agent gets. Nothing is written yet. */
export interface NextRun {
  readonly draft: Draft
  readonly turn: Turn
}

/**
 * Makes the next run of a conversation from what came before it and what comes now: the same for every door, and pure.
 *
 * @param before undefined for a conversation that begins
 * @throws HostError `APPROVAL_DECIDED`, `APPROVAL_NOT_FOUND`, `REQUEST_INVALID` for answers that do not fit
 */
export function next(before: Before | undefined, given: Given, rules: SightRules): NextRun {
  const { id, tenant, named, items = NONE, idempotency, isTrailLost } = given
  const { settled, answers, pending, claim, resumes } = before ? goOn(before, given) : BEGINS
  const last = before?.conversation.last
  const earlier = before?.conversation.messages ?? NONE
  const added = settled.length > 0 ? [...settled, ...given.messages] : given.messages
  const all = earlier.length > 0 ? [...earlier, ...added] : added
  const facts = toFacts(before, given, answers !== undefined)
  return {
    draft: {
      id,
      facts,
      items,
      makeTurn: () => withExtras(makeTurn(id, given.createdAt, added, last, pending), answers, given),
      earlier,
      idempotency,
      claim: named ? joinClaims(claim, claimConversation(named, id)) : claim,
      resumes,
    },
    turn: toTurn(id, tenant, facts, { answers, pending, isTrailLost, messages: see(all, pending, facts, rules) }),
  }
}

const NONE: readonly never[] = Object.freeze([])

/** Continuation of the run before. */
interface GoingOn {
  /** Results of the calls that were open; they stand before the messages of the run. */
  readonly settled: readonly Message[]
  /** Undefined for a run that begins with a message. */
  readonly answers: readonly PendingAnswer[] | undefined
  /** Calls that the answers are for. */
  readonly pending: readonly PendingCall[]
  readonly claim?: Claim | undefined
  readonly resumes?: TakenDecisions | undefined
}

const BEGINS: GoingOn = Object.freeze({ settled: NONE, answers: undefined, pending: NONE })

function goOn(before: Before, given: Given): GoingOn {
  const { last } = before.conversation
  const { pending = NONE } = last
  if (pending.length === 0) return BEGINS
  const answers = given.messages.length > 0 ? undefined : given.answers
  if (answers && before.isCancelled) throw wasCancelled()
  const joined = before.facts && !before.isCancelled ? join(before, pending, answers, given) : undefined
  const { claim, resumes } = unmark(joined, before)
  if (answers) return { settled: NONE, answers: joined?.answers ?? answers, pending, claim, resumes }
  const settled = settle(openOf(pending), given.answers ?? NONE, findEndings(before))
  return { settled, answers, pending: NONE, claim, resumes }
}

/** Has a run that is continued be listed no longer. */
function unmark(
  joined: Pick<GoingOn, 'claim' | 'resumes'> = BEGINS,
  { facts, conversation: { last } }: Before,
): Pick<GoingOn, 'claim' | 'resumes'> {
  if (!facts || !isMarked(facts.adapter, last.pending ?? NONE)) return joined
  const claim = joinClaims(joined.claim, { changes: [unmarkWaiting(last.response_id)], equal: [] })
  return { claim, resumes: joined.resumes && { ...joined.resumes, isMarked: true } }
}

/** @throws HostError `APPROVAL_DECIDED` for answers when another run continues it, and only one may */
function join(
  { approvals, continuedBy, conversation: { last } }: Before,
  pending: readonly PendingCall[],
  answers: readonly PendingAnswer[] | undefined,
  { id, agent, by, isOnce = false }: Given,
): Joined | undefined {
  const joined = joinDecisions(approvals, pending, { id, agent, answers, by })
  if (!isOnce && !keepsDecisions(pending)) return joined
  if (answers && (joined?.isBranch || continuedBy !== undefined)) throw alreadyAnswered()
  // Messages after the first run that continues it are branches of the conversation.
  if (joined || continuedBy !== undefined) return joined
  return {
    answers,
    claim: claimContinued(last.response_id, id),
    resumes: { runId: last.response_id, approvals: [] },
    isBranch: false,
  }
}

function toFacts(before: Before | undefined, given: Given, isAnswered: boolean): RunFacts {
  const { adapter, agent, createdAt, named, data, own, isUnasked, key } = given
  const waiting = before?.conversation.last
  // A message in the place of the answers that the run before waits for.
  const answersTo = isAnswered ? undefined : (waiting?.pending?.[0]?.runId ?? given.options.answersTo)
  // An answer continues the variant that waits, from any client.
  const variant = given.options.variant ?? (isAnswered ? before?.facts?.options.variant : undefined)
  const isChanged = answersTo !== given.options.answersTo || variant !== given.options.variant
  return {
    adapter,
    agent,
    createdAt,
    previousId: waiting?.response_id ?? null,
    conversation: named?.id,
    firstId: before?.facts?.firstId ?? waiting?.response_id,
    options: isChanged ? { ...given.options, answersTo, variant } : given.options,
    data,
    own,
    isUnasked,
    key,
  }
}

function withExtras(
  turn: StoredTurn,
  answers: readonly PendingAnswer[] | undefined,
  { named, tools = NONE, options: { user } }: Given,
): StoredTurn {
  if (!answers && !named && tools.length === 0 && user === undefined) return turn
  const ofUser = user === undefined ? {} : { user }
  const more = { ...ofUser, ...(tools.length > 0 ? { tools } : {}), ...(named ? { conversation: named.id } : {}) }
  return { ...(answers ? withAnswers(turn, answers) : turn), ...more }
}

/**
 * Returns a conversation as its agent sees it.
 *
 * @param pending calls that are open in it
 */
export function see(
  messages: readonly Message[],
  pending: readonly PendingCall[],
  { options: { isTruncated } }: Pick<RunFacts, 'options'>,
  { limits, attachments }: SightRules,
): readonly Message[] {
  const open = () => openOf(pending).map(toolCallOf)
  return withoutUnseen(isTruncated ? truncate(messages, new HistoryBudget(limits), open()) : messages, attachments)
}

/** Returns the turn of the agent that a run is. */
export function toTurn(
  id: string,
  tenant: string,
  { options, conversation, firstId }: Pick<RunFacts, 'options' | 'conversation' | 'firstId'>,
  given: Pick<Turn, 'messages' | 'answers' | 'pending' | 'isTrailLost'>,
): Turn {
  const { instructions, user, metadata, traceparent, input, requestOptions, maxToolCalls, clientTools } = options
  const { background, variant, answersTo, ttlSeconds } = options
  return {
    runId: uuidOf(id),
    messages: given.messages,
    answers: given.answers,
    pending: given.pending,
    isTrailLost: given.isTrailLost,
    answersTo,
    instructions,
    user,
    tenant,
    metadata,
    conversation: conversation ?? (firstId && uuidOf(firstId)),
    traceparent,
    background,
    input,
    requestOptions,
    maxToolCalls,
    ttlSeconds,
    clientTools,
    variant,
  }
}

/**
 * Returns what a run takes over from the one that waits, if no request says otherwise: everything but a `tool_choice`, which the
 * answered step has fulfilled.
 */
export function carriedOn(facts: RunFacts): Pick<Given, 'adapter' | 'agent' | 'options' | 'data' | 'key'> {
  const { adapter, agent, data, options, key } = facts
  const { answersTo: _answered, requestOptions, ...rest } = options
  const { toolChoice: _fulfilled, ...others } = requestOptions ?? {}
  const shows = [...new Set([...(options.shows ?? []), ...SHOWN_AFTER_DECISION])]
  return { adapter, agent, data, key, options: { ...rest, requestOptions: others, shows } }
}
