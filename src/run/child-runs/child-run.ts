import { hash } from 'node:crypto'
import { badRequest, messageOf } from '../../errors.ts'
import type { AgentCall, AgentReply } from '../../protocols/run.ts'
import type { AgentRun } from '../agent-run.ts'
import { fromMessageJson, toMessageJson } from '../attachment-json.ts'
import type { RunEvent } from '../run-event.ts'
import type { RunHandle, RunResult, Turn } from '../turn.ts'
import type { PendingAnswer, PendingCall, WaitingChild } from '../waiting/pending-call.ts'
import type { StartChild } from './parent-run.ts'

/** Agents that call agents that call agents. */
const MAX_DEPTH = 8

/** Calls an agent as a child run, for the code of a tool. See {@link Run.callAgent}. */
export async function callAgent(run: AgentRun, call: AgentCall, startChild: StartChild): Promise<AgentReply> {
  const { toolCallId: callId, parent, abort, callBudget, quota, checkTime, waiting } = run
  if (!run.isInTool || callId === undefined) {
    throw badRequest('run.callAgent was called outside of a tool.', {
      suggestions: ['Call it inside executeTool, with the run that the tool was given.'],
    })
  }
  const depth = (parent?.depth ?? 0) + 1
  if (depth > MAX_DEPTH)
    throw new Error(`Agents may call each other ${MAX_DEPTH} levels deep; '${call.agent}' would be the next.`)
  const earlier = waiting.takeChild(callId)
  const turn = earlier ? toNextTurn(run, callId, earlier) : toFirstTurn(run, call)
  const parentRun = { runId: run.id, callId: run.callId, depth, callBudget, quota, checkTime }
  const result = await untilEnd(run, earlier?.agent ?? call.agent, () =>
    startChild(earlier?.agent ?? call.agent, turn, parentRun),
  )
  abort.throwIfRequested()
  if (result.status === 'waiting')
    throw waiting.begin(...toPending(run.agentId, callId, earlier?.agent ?? call.agent, result, turn))
  return { text: result.text, attachments: result.attachments }
}

/** Ends the child with its parent. */
async function untilEnd(run: AgentRun, agent: string, start: () => ReturnType<StartChild>): Promise<RunResult> {
  throwIfAborted(run)
  let handle: RunHandle | undefined
  const forget = onAbort(run, (reason) => handle?.abort(reason))
  try {
    const started = start()
    handle = started instanceof Promise ? await started : started
    if (started instanceof Promise && (run.abort.isRequested || run.own.signal?.aborted)) handle.abort()
    return await handle.result
  } catch (cause) {
    throwIfAborted(run)
    throw new Error(`The agent '${agent}' failed: ${messageOf(cause)}`, { cause })
  } finally {
    forget()
  }
}

function throwIfAborted({ abort, own }: AgentRun): void {
  abort.throwIfRequested()
  own.signal?.throwIfAborted()
}

/** Calls the listener when the run, or its caller's part of it, is aborted. Returns a function that ends it. */
function onAbort({ abort, own: { signal } }: AgentRun, listener: (reason: unknown) => void): () => void {
  const forget = abort.onRequest(listener)
  if (!signal) return forget
  const onSignal = () => listener(signal.reason)
  signal.addEventListener('abort', onSignal, { once: true })
  return () => {
    forget()
    signal.removeEventListener('abort', onSignal)
  }
}

function toFirstTurn(run: AgentRun, { message, input }: AgentCall): Turn {
  return { messages: [{ role: 'user', content: message }], input, ...inheritedBy(run) }
}

function toNextTurn(run: AgentRun, callId: string, { pending, trail, input }: WaitingChild): Turn {
  const answers = answersTo(pending, callId, (id) => run.waiting.answers.answerTo(id))
  for (const answer of answers) {
    const name = pending.find((asked) => asked.callId === answer.callId)?.name ?? ''
    if (answer.kind === 'approval') run.answer.trail.find(callId)?.noteDecision(name, answer, true)
  }
  return { messages: trail.map(fromMessageJson), pending, answers, input, ...inheritedBy(run) }
}

/**
 * The answers to the calls of a child, among those that its parent was given.
 *
 * @param within tool call of the parent that began it
 */
export function answersTo(
  pending: readonly PendingCall[],
  within: string,
  find: (callId: string) => PendingAnswer | undefined,
): PendingAnswer[] {
  return pending.flatMap((asked) => {
    const given = find(toPendingId(within, asked))
    return given ? [{ ...given, callId: asked.callId }] : []
  })
}

function inheritedBy(run: AgentRun): Omit<Turn, 'messages'> {
  const { user, tenant, metadata, waiting, variant } = run
  // Where no one keeps the trail, the output of a client's tool would never reach the child.
  const clientTools = waiting.isTrailLost ? [] : run.clientTools
  return { user, tenant, metadata, clientTools, variant, onEvent: (event) => passOn(event, run) }
}

/** The answer of a child is progress of its parent. */
function passOn(event: RunEvent, run: AgentRun): void {
  if (event.type === 'text') run.reportProgress(event.text)
  else if (event.type === 'progress') run.reportProgress(event.message)
  else if (event.type === 'usage') run.addUsage(event.usage)
  else if (event.type === 'custom' && !run.answer.holdsText) run.answer.notify(event)
}

/** Calls for which the parent waits: those of the child. The first has everything that the child needs to go on. */
function toPending(
  caller: string,
  within: string,
  agent: string,
  { runId, pending, trail }: RunResult,
  { input }: Turn,
): PendingCall[] {
  const child: WaitingChild = { runId, agent, pending, trail: trail.map(toMessageJson), ...(input ? { input } : {}) }
  return pending.map(({ runId: _, decided: __, child: ___, beside: ____, ...asked }, index) => {
    const { asker = { agent, runId, askedBy: [] } } = asked
    const own = { within, asker: { ...asker, askedBy: [...asker.askedBy, caller] } }
    return { ...asked, callId: toPendingId(within, asked), ...own, ...(index === 0 ? { child } : {}) }
  })
}

/** Id of a child's call in its parent: the same wherever it is needed, of a length that clients take, and of no other call. */
function toPendingId(within: string, { callId }: Pick<PendingCall, 'callId'>): string {
  const digest = hash('sha256', JSON.stringify([within, callId]), 'base64url')
  return `call_${digest.slice(0, 24)}`
}
