import { isDeepStrictEqual } from 'node:util'
import { messageOf } from '../../errors.ts'
import { fieldsOf, isDeeper, MAX_LEVELS } from '../../json.ts'
import type { ApprovalPolicy, ApprovalRule } from '../../protocols/approval-policy.ts'
import type { Run } from '../../protocols/run.ts'
import type { ToolDefinition } from '../../protocols/tool-definition.ts'
import type { ToolProvider, ToolResult } from '../../protocols/tool-provider.ts'
import { AgentRun } from '../agent-run.ts'
import { findTextMisfit } from '../checks/check-text.ts'
import type { RecordedCall } from '../state/trail.ts'
import type { DecidedCall } from '../waiting/given-answers.ts'
import { type CallDecision, digestOf, type PendingCall, RUN_WAITS } from '../waiting/pending-call.ts'

type Arguments = Readonly<Record<string, unknown>>

/** Tools whose calls enter the trail of the run, and are executed only once required approvals are given. */
export function recordToolProvider(provider: ToolProvider, moduleId: string, findPolicy: FindPolicy): ToolProvider {
  return {
    async listTools(run) {
      const tools = await provider.listTools(run)
      if (run instanceof AgentRun) refuseCollision(tools, run)
      return tools
    },
    executeTool(name, args, run) {
      if (!(run instanceof AgentRun)) return provider.executeTool(name, args, run)
      if (isDeeper(args, MAX_LEVELS) && isTree(args))
        return Promise.reject(new Error(`The arguments of '${name}' have more than ${MAX_LEVELS} levels.`))
      const tools: Tools = { provider, moduleId, findPolicy }
      const { isInTool, toolCallId } = run
      return isInTool && toolCallId !== undefined
        ? executeNested(tools, { id: toolCallId, name, args, isNested: true }, run)
        : execute(tools, name, args, run)
    },
  }
}

/** Tells whether a model can have written these arguments, so that they are stored. Circular ones come from a module; their tool decides. */
function isTree(args: Arguments): boolean {
  try {
    JSON.stringify(args)
    return true
  } catch (error) {
    return error instanceof RangeError
  }
}

/** The approval policy of this id. */
type FindPolicy = (id: string, agentId: string) => ApprovalPolicy

interface Tools {
  readonly provider: ToolProvider
  readonly moduleId: string
  readonly findPolicy: FindPolicy
}

/** Provider of client tools: calling one makes the run wait. */
export const CLIENT_TOOL_PROVIDER: ToolProvider = Object.freeze({
  listTools: (run: Run) => run.clientTools,
  // V8 never compiles a function that always throws, so this one does nothing else.
  executeTool(name: string, args: Arguments, run: Run): never {
    throw waitForClient(name, args, run)
  },
})

function waitForClient(name: string, args: Arguments, run: Run): Error {
  if (!(run instanceof AgentRun)) return new TypeError(`The client's tool '${name}' was called without the run.`)
  const { answer, waiting, toolCallId } = run
  const recorded = answer.trail.begin(name, args, toolCallId)
  const { client } = run.clientTools.find((tool) => tool.name === name) ?? {}
  const misfit =
    unreadableOf(recorded) ?? (client?.isCustom ? findTextMisfit(client, args.input, run.checkTime) : undefined)
  if (misfit !== undefined) {
    recorded.result = { text: misfit, isError: true }
    return new Error(misfit)
  }
  recorded.isPending = true
  const called = { name, arguments: args, ...(client ? { client } : {}) }
  return waiting.begin({ callId: recorded.call.id, kind: 'client_tool', ...called })
}

function refuseCollision(tools: readonly ToolDefinition[], run: AgentRun): void {
  if (run.clientTools.length === 0) return
  const own = new Set(tools.map(({ name }) => name))
  const double = run.clientTools.find(({ name }) => own.has(name))
  if (double)
    throw run.refuse(`tools: agent '${run.agentId}' has a tool '${double.name}' of its own. Rename yours.`, 'tools')
}

/** Executes a call of the conversation. */
async function execute(tools: Tools, name: string, args: Arguments, run: AgentRun): Promise<ToolResult> {
  const { abort, answer, waiting } = run
  abort.throwIfRequested()
  const recorded = answer.trail.begin(name, args, run.toolCallId)
  if (waiting.isTrailLost && hasClientCall(recorded, run)) throw RUN_WAITS
  // The other calls of the waiting step still run; later steps do not.
  if (waiting.hasBegun && !recorded.answer.calls.some(({ isPending }) => isPending)) throw RUN_WAITS
  recorded.isClaimed = true
  const { id } = recorded.call
  const { moduleId } = tools
  recorded.moduleId = moduleId
  const called = { ...recorded.call, name, arguments: args }
  await answer.emit({ type: 'tool_call', call: called, moduleId, answer: answer.trail.answerOf(recorded) })
  recorded.hasBegun = true
  try {
    const call = { id, name, args, isNested: false }
    const denial = unreadableOf(recorded) ?? run.callBudget?.take()
    const result =
      denial === undefined
        ? await untilWaiting(executeApproved(tools, call, run.inTool(id)), recorded, run)
        : { text: denial, isError: true }
    recorded.result = result
    await answer.emit({ type: 'tool_result', callId: id, result })
    return result
  } catch (error) {
    abort.throwIfRequested()
    if (recorded.isPending || recorded.result) throw error
    recorded.result = { text: messageOf(error), isError: true }
    await answer.emit({ type: 'tool_result', callId: id, result: recorded.result })
    throw error
  }
}

/** The result of a call, unless it waits, even if the tool catches the interruption. */
async function untilWaiting(
  work: Promise<ToolResult>,
  recorded: RecordedCall,
  { waiting }: AgentRun,
): Promise<ToolResult> {
  const { id } = recorded.call
  const settled = await work.then(
    (result) => () => result,
    (error: unknown) => () => {
      throw error
    },
  )
  if (!waiting.isFor(id) && !recorded.isPending) return settled()
  await waiting.answers.settle(id)
  recorded.isPending = true
  throw RUN_WAITS
}

/** A call that the code of a tool makes is part of that tool's call; it may need an approval of its own. */
function executeNested(tools: Tools, call: DecidedCall, run: AgentRun): Promise<ToolResult> {
  run.abort.throwIfRequested()
  return executeApproved(tools, call, run)
}

async function executeApproved(tools: Tools, call: DecidedCall, run: AgentRun): Promise<ToolResult> {
  const { provider } = tools
  const { id: callId, name, args, isNested } = call
  const rule = await findRule(tools, name, args, run)
  if (typeof rule === 'object') return refused(`The call of '${name}' is denied; it was not executed.`, rule.deny)
  const { answer, waiting } = run
  const isNeeded = rule === 'always'
  if (!isNeeded && !(waiting.isDecided && waiting.answers.isAbout(callId))) return provider.executeTool(name, args, run)
  const digest = digestOf(name, args, run.agentVersion)
  // A person's decision counts even if the call no longer needs an approval.
  const decision = waiting.answers.take(call, digest, isNeeded)
  if (!decision && !isNeeded) return provider.executeTool(name, args, run)
  if (!decision) throw waiting.begin(await toPending(provider, { callId, name, args, digest }, run))
  answer.trail.find(callId)?.noteDecision(name, decision.answer, isNested)
  const execute = () => executeDecided(provider, call, decision.answer, run)
  return isNested ? waiting.answers.carryOut(callId, decision, execute) : execute()
}

async function toPending(
  provider: ToolProvider,
  { callId, name, args, digest }: { callId: string; name: string; args: Arguments; digest: string },
  run: AgentRun,
): Promise<PendingCall> {
  const { parameters: schema } = (await provider.listTools(run)).find((tool) => tool.name === name) ?? {}
  return { callId, kind: 'approval', name, arguments: args, digest, ...(schema ? { schema: { ...schema } } : {}) }
}

async function executeDecided(
  provider: ToolProvider,
  { name, args }: DecidedCall,
  { decision, reason, arguments: edited }: CallDecision,
  run: AgentRun,
): Promise<ToolResult> {
  if (decision !== 'approve' && decision !== 'edit')
    return refused(`A person rejected this call of '${name}'; it was not executed.`, reason)
  if (!edited || isDeepStrictEqual(edited, args)) return provider.executeTool(name, args, run)
  const result = await provider.executeTool(name, edited, run)
  return { ...result, text: `(A person changed the arguments to ${JSON.stringify(edited)}.)\n${result.text}` }
}

/** @throws Error if `needsApproval` returns anything else than a need: the call is not executed */
async function findRule(
  { provider, moduleId, findPolicy }: Tools,
  name: string,
  args: Arguments,
  run: AgentRun,
): Promise<ApprovalRule> {
  if (!provider.needsApproval) return 'never'
  const need: unknown = await provider.needsApproval(name, args, run)
  if (typeof need === 'boolean') return need ? 'always' : 'never'
  const { policy, arguments: seen = args } = fieldsOf(need)
  if (typeof policy !== 'string')
    throw new Error(`needsApproval of the module '${moduleId}' must return true, false or a policy for '${name}'.`)
  const rule = await findPolicy(policy, run.agentId).ruleFor(name, seen as Arguments, run)
  if (rule === 'always' || rule === 'never' || typeof rule?.deny === 'string') return rule
  throw new Error(`The module '${policy}' returned no approval rule for '${name}': ${JSON.stringify(rule)}.`)
}

function refused(text: string, reason: string | undefined): ToolResult {
  const why = reason === undefined || reason === '' ? '' : ` Reason: ${reason}`
  return { text: text + why, isError: true, isRejected: true }
}

/** Tells whether a call of the client stands in the same step and has no result yet. */
function hasClientCall({ answer }: RecordedCall, { clientTools }: AgentRun): boolean {
  const names = new Set(clientTools.map(({ name }) => name))
  return answer.calls.some(({ call, result }) => names.has(call.name) && call.unreadable === undefined && !result)
}

/** Refusal of a call whose arguments cannot be read; undefined for any other. */
function unreadableOf({ call: { name, unreadable } }: RecordedCall): string | undefined {
  if (unreadable === undefined) return undefined
  return `The arguments of '${name}' are no JSON object, so it was not executed. Call it again. You wrote: ${unreadable.slice(0, 500)}`
}
