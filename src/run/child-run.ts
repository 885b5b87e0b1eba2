import { HostError, messageOf } from '../errors.ts'
import type { AgentCall, AgentReply } from '../protocols/run.ts'
import type { AgentRun } from './agent-run.ts'
import { fromMessageJson, toMessageJson } from './attachment-json.ts'
import type { StartChild } from './parent-run.ts'
import type { RunEvent } from './run-event.ts'
import type { PendingAnswer, PendingCall, WaitingChild } from './state/pending-call.ts'
import type { RunHandle, RunResult, Turn } from './turn.ts'

/** Agents that call agents that call agents. */
const MAX_DEPTH = 8

/** Calls an agent as a child run, for the code of a tool. See {@link Run.callAgent}. */
export async function callAgent(run: AgentRun, call: AgentCall, startChild: StartChild): Promise<AgentReply> {
  const { toolCallId: callId, parent, abort, waiting } = run
  if (!run.isInTool || callId === undefined) {
    throw new HostError('REQUEST_INVALID', 'run.callAgent was called outside of a tool.', {
      suggestions: ['Call it inside executeTool, with the run that the tool was given.'],
    })
  }
  const depth = (parent?.depth ?? 0) + 1
  if (depth > MAX_DEPTH)
    throw new Error(`Agents may call each other ${MAX_DEPTH} levels deep; '${call.agent}' would be the next.`)
  const earlier = waiting.takeChild(callId)
  const turn = earlier ? toNextTurn(run, earlier, waiting.answers.answerTo(callId)) : toFirstTurn(run, call)
  const parentRun = { runId: run.id, callId: run.callId, depth }
  const result = await untilEnd(run, earlier?.agent ?? call.agent, () =>
    startChild(earlier?.agent ?? call.agent, turn, parentRun),
  )
  abort.throwIfRequested()
  if (result.status === 'waiting') throw waiting.begin(toPending(callId, earlier?.agent ?? call.agent, result, turn))
  return { text: result.text, attachments: result.attachments }
}

/** Ends the child with its parent. */
async function untilEnd(run: AgentRun, agent: string, start: () => RunHandle): Promise<RunResult> {
  const { signal } = run
  signal.throwIfAborted()
  let handle: RunHandle | undefined
  const abort = () => handle?.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    handle = start()
    return await handle.result
  } catch (cause) {
    signal.throwIfAborted()
    throw new Error(`The agent '${agent}' failed: ${messageOf(cause)}`, { cause })
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function toFirstTurn(run: AgentRun, { message, input }: AgentCall): Turn {
  return { messages: [{ role: 'user', content: message }], input, ...inheritedBy(run) }
}

function toNextTurn(run: AgentRun, child: WaitingChild, given: PendingAnswer | undefined): Turn {
  const [asked] = child.pending
  const answers = given && asked ? [{ ...given, callId: asked.callId }] : []
  const { pending, trail, input } = child
  if (given?.kind === 'approval' && asked) run.answer.trail.find(given.callId)?.noteDecision(asked.name, given, true)
  return { messages: trail.map(fromMessageJson), pending, answers, input, ...inheritedBy(run) }
}

function inheritedBy(run: AgentRun): Omit<Turn, 'messages'> {
  const { user, tenant, metadata, waiting } = run
  // Where nobody keeps the trail, nobody could hand the child the output of a client's tool.
  const clientTools = waiting.isTrailLost ? [] : run.clientTools
  return { user, tenant, metadata, clientTools, onEvent: (event) => passOn(event, run) }
}

/** The answer of a child is progress of its parent. */
function passOn(event: RunEvent, run: AgentRun): void {
  if (event.type === 'text') run.reportProgress(event.text)
  else if (event.type === 'progress') run.reportProgress(event.message)
  else if (event.type === 'usage') run.addUsage(event.usage)
}

/** Call for which the parent waits: the first one of the child, with everything that the child needs to go on. */
function toPending(callId: string, agent: string, { runId, pending, trail }: RunResult, { input }: Turn): PendingCall {
  const [first] = pending
  if (!first) throw new Error(`The run '${runId}' waits for nothing.`)
  const { runId: _, decided: __, child: ___, ...asked } = first
  const child: WaitingChild = { runId, agent, pending, trail: trail.map(toMessageJson), ...(input ? { input } : {}) }
  return { ...asked, callId, child }
}
