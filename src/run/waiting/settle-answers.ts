import { messageOf } from '../../errors.ts'
import { JSON_VALUE } from '../../given.ts'
import { fieldsOf, isObject } from '../../json.ts'
import type { ToolCall } from '../../protocols/message.ts'
import { ToolProvider } from '../../protocols/tool-provider.ts'
import { openCallsOf } from '../../wire/paired-calls.ts'
import type { WiredModule } from '../../wiring/wiring.ts'
import type { AgentRun } from '../agent-run.ts'
import { findMisfit } from '../checks/check-schema.ts'
import type { CheckTime } from '../checks/check-time.ts'
import { TOOL_RESULT } from '../checks/given-turn.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { RunConversation } from '../exchange/run-providers.ts'
import type { RecordedCall } from '../state/trail.ts'
import type { Turn } from '../turn.ts'
import { fromAnswerJson } from './answer-json.ts'
import { toHeldPending, toHeldResult } from './held-texts.ts'
import { type PendingAnswer, type PendingCall, RunWaits, stateOf, toolCallOf } from './pending-call.ts'

/**
 * Continues where an earlier run waits: accepts outputs of clients, and executes decided calls as decided, once the last of them has an
 * answer. Until then the answers are kept, and what has none keeps waiting. Results stand in the conversation before the handler sees it.
 *
 * @throws HostError `REQUEST_INVALID` for an answer to a call that is not open, or that does not fit the call's schema
 */
export async function settleAnswers(
  turn: Turn,
  conversation: RunConversation,
  exchange: Exchange,
  modules: readonly WiredModule[],
  run: AgentRun,
): Promise<void> {
  const open = openCallsOf(turn.messages)
  checkAnswers(turn, open, run)
  const isWhole = turn.pending?.every(({ callId }) => run.waiting.answers.answerTo(callId)) ?? true
  for (const call of open) {
    const recorded = run.answer.trail.resume(call)
    const pending = turn.pending?.filter((each) => toolCallOf(each) === call.id) ?? []
    const answer = run.waiting.answers.answerTo(call.id)
    if (call.held) settleHeld(recorded, answer, run)
    else if (answer?.kind === 'client_tool') recorded.result = answer.result
    else if (isWhole || pending.length === 0) await execute(call, pending[0]?.moduleId, exchange, modules, run)
    else waitOn(recorded, pending, run)
    const message = recorded.toMessage()
    if (message) conversation.addMessage(message)
  }
}

/** Has a call wait on, with the answers that it has. */
function waitOn(recorded: RecordedCall, pending: readonly PendingCall[], { waiting }: AgentRun): void {
  recorded.isPending = true
  const open: PendingCall[] = []
  for (const call of pending) {
    const answer = waiting.answers.answerTo(call.callId)
    if (answer) waiting.keep(call, answer)
    else open.push(call)
  }
  if (open.length > 0) waiting.begin(...open)
}

/** Returns a turn with the answers that were kept until the others came. */
export function withKeptAnswers<T extends Pick<Turn, 'pending' | 'answers'>>(turn: T): T {
  const { pending, answers } = turn
  if (!pending || !answers) return turn
  const kept = pending.flatMap(({ beside = [] }) => beside)
  if (kept.length === 0) return turn
  return {
    ...turn,
    pending: [...pending.map(({ beside: _kept, ...call }) => call), ...kept.map(({ call }) => call)],
    answers: [...answers, ...kept.map(({ answer }) => fromAnswerJson(answer))],
  }
}

/**
 * Problem of an answer that does not match its call; undefined when it does. Paths are those of the answer.
 *
 * @param time shared by all answers that come together
 */
export function findAnswerProblem(pending: PendingCall, answer: PendingAnswer, time: CheckTime): string | undefined {
  if (answer.kind !== pending.kind) return `The call '${pending.callId}' waits for ${NAMES[pending.kind]}.`
  const problem = findShapeProblem(answer)
  if (problem !== undefined) return problem
  if (answer.kind === 'question') return findQuestionProblem(pending, answer.answers.at(-1), time)
  if (!pending.schema) return undefined
  const isEdited = answer.kind === 'approval' && answer.decision === 'edit'
  return isEdited ? findMisfit(pending.schema, answer.arguments ?? {}, time) : undefined
}

/** Problem of several answers to one call: which of them counts must not depend on their order. */
export function findAnsweredTwice(answers: readonly PendingAnswer[]): string | undefined {
  const ids = new Set<string>()
  for (const { callId } of answers) {
    if (ids.has(callId)) return `the call '${callId}' has more than one answer.`
    ids.add(callId)
  }
  return undefined
}

/** Problem of an answer as such: programs and adapters hand over whatever they were sent. Nothing but an explicit approval executes a call. */
function findShapeProblem(answer: PendingAnswer): string | undefined {
  const { decision, arguments: edited, reason, answers, result } = fieldsOf(answer)
  const { attachments: _bytes, ...said } = fieldsOf(result)
  if (JSON_VALUE({ ...answer, result: said }) !== undefined) return 'it must be JSON.'
  if (answer.kind === 'question')
    return Array.isArray(answers) && answers.at(-1) !== undefined ? undefined : 'answers must hold one.'
  if (answer.kind === 'client_tool') return findToolResultProblem(result)
  if (decision !== 'approve' && decision !== 'edit' && decision !== 'reject')
    return "decision must be 'approve', 'edit' or 'reject'."
  if ((edited !== undefined) !== (decision === 'edit')) return "arguments go with 'edit', and with nothing else."
  if (edited !== undefined && !isObject(edited)) return 'arguments must be an object.'
  return reason === undefined || typeof reason === 'string' ? undefined : 'reason must be a string.'
}

function findToolResultProblem(result: unknown): string | undefined {
  const problem = TOOL_RESULT(result)
  return problem === undefined ? undefined : `result${problem}`
}

/** Checks the answer to a question: what another site sent back has its `state`, so that no answer to another one counts. */
function findQuestionProblem(pending: PendingCall, answer: unknown, time: CheckTime): string | undefined {
  const state = stateOf(pending)
  const text = typeof answer === 'string' ? answer : ''
  const given = new URLSearchParams(text.replace(/^[^?]*\?|#.*/g, '')).get('state')
  if (state !== undefined && given !== state) return 'it belongs to another question, by its state.'
  return pending.schema && findMisfit(pending.schema, answer, time)
}

const NAMES = Object.freeze({
  client_tool: 'the output of a tool',
  approval: 'a decision',
  question: 'an answer',
})

function checkAnswers({ answers = [], pending }: Turn, open: readonly ToolCall[], run: AgentRun): void {
  for (const answer of answers) {
    const asked = pending?.find(({ callId }) => callId === answer.callId)
    if (!open.some(({ id }) => id === toolCallOf(asked ?? answer))) {
      throw run.refuse(`No call '${answer.callId}' waits for an answer.`)
    }
    const isExpiry = asked?.kind === 'question' && answer.kind === 'approval' && answer.decision === 'reject'
    const problem = asked && !isExpiry ? findAnswerProblem(asked, answer, run.checkTime) : findShapeProblem(answer)
    if (problem !== undefined) throw run.refuse(`The answer to '${answer.callId}' does not fit: ${problem}`)
  }
  const twice = findAnsweredTwice(answers)
  if (twice !== undefined) throw run.refuse(`The answers do not fit: ${twice}`)
}

/** Takes a decision about a text that a guard holds; one about an earlier version of the agent does not count. */
function settleHeld(recorded: RecordedCall, answer: PendingAnswer | undefined, run: AgentRun): void {
  const pending = toHeldPending(recorded.call, run.agentVersion)
  const isDecided = answer?.kind === 'approval' && (answer.digest ?? pending.digest) === pending.digest
  recorded.isPending = !isDecided
  if (isDecided) {
    recorded.noteDecision(recorded.call.name, answer, false)
    recorded.result = { text: toHeldResult(answer) }
  } else run.waiting.begin(pending)
}

/** Through the same facade as any call: the decision is found there, and bound to the exact call. */
async function execute(
  { id, name, arguments: args }: ToolCall,
  moduleId: string | undefined,
  exchange: Exchange,
  modules: readonly WiredModule[],
  run: AgentRun,
): Promise<void> {
  const ofCall = run.with({ toolCallId: id })
  const provider = await findProvider(name, exchange, modules, ofCall, moduleId)
  const recorded = run.answer.trail.find(id)
  if (!provider) {
    if (recorded) recorded.result = { text: `There is no tool '${name}' any more.`, isError: true }
    return
  }
  try {
    await provider.executeTool(name, args, ofCall)
  } catch (error) {
    run.abort.throwIfRequested()
    if (error instanceof RunWaits || !recorded) return
    // A failure is recorded as the result, for the model to see.
    recorded.result ??= { text: messageOf(error), isError: true }
  }
}

/**
 * Returns the provider of a tool; undefined if none of them has it.
 *
 * @param moduleId of the only module to ask, unless the agent no longer has it
 * @throws the error of a provider that could not list its tools, where no other has the tool: the run fails, and the call is not spent
 */
export async function findProvider(
  name: string,
  exchange: Exchange,
  modules: readonly WiredModule[],
  run: AgentRun,
  moduleId?: string,
): Promise<ToolProvider | undefined> {
  const providers = modules.filter(({ id, module }) => exchange.has(id) && module.provides.some(isToolProvider))
  const own = providers.filter(({ id }) => id === moduleId)
  const failures: unknown[] = []
  for (const { id } of own.length > 0 ? own : providers) {
    const provider = exchange.provideToAgent(id, ToolProvider, run.agentId)
    try {
      if ((await provider.listTools(run)).some((tool) => tool.name === name)) return provider
    } catch (error) {
      run.abort.throwIfRequested()
      failures.push(error)
    }
  }
  if (run.clientTools.some((tool) => tool.name === name)) return exchange.clientTools(run.agentId)
  if (failures.length > 0) throw failures[0]
  return undefined
}

function isToolProvider({ name }: { name: string }): boolean {
  return name === ToolProvider.name
}
