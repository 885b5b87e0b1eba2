import { randomUUID } from 'node:crypto'
import { badRequest, type HostError } from '../errors.ts'
import type { ModelOptions } from '../protocols/model-options.ts'
import type { AgentCall, AgentReply, Question, Run, RunOverrides, Usage } from '../protocols/run.ts'
import type { ToolDefinition } from '../protocols/tool-definition.ts'
import type { TracedChange } from '../wire/variant.ts'
import type { ReplayOrigin, RunOrigin } from './calls/agent-events.ts'
import { CheckTime } from './checks/check-time.ts'
import type { ParentRun } from './child-runs/parent-run.ts'
import { CallBudget } from './state/call-budget.ts'
import { RunAbort } from './state/run-abort.ts'
import { RunAnswer } from './state/run-answer.ts'
import type { RunQuota } from './state/run-quota.ts'
import type { Turn } from './turn.ts'
import { RUN_WAITS } from './waiting/pending-call.ts'
import { RunWaiting } from './waiting/run-waiting.ts'

/** An agent's side of a run that is to be created. */
export interface RunOwner {
  readonly agentId: string
  readonly agentVersion: string
  /** Left out for a run of the agent as it is. */
  readonly variant?: readonly TracedChange[] | undefined
  readonly entryPoint: string
  /** Left out for a run that a client began. */
  readonly parent?: ParentRun | undefined
  /** Left out for a run that replays none. */
  readonly replays?: ReplayOrigin | undefined
  /** Left out where no other agents can be called. */
  readonly callChild?: CallChild | undefined
  /** See `ModuleCall.isLook`. */
  readonly isLook?: boolean | undefined
  /** Left out for a run whose sender has no limits. */
  readonly quota?: RunQuota | undefined
  /** Seconds in which a person has to decide; undefined for no limit. */
  readonly approvalTtl?: number | undefined
}

/** Calls another agent for the code of a tool of a run. */
export type CallChild = (run: AgentRun, call: AgentCall) => Promise<AgentReply>

/** Properties of a new run, or of the one that a view is of. */
type RunSpec = Pick<
  AgentRun,
  | 'id'
  | 'agentId'
  | 'agentVersion'
  | 'variant'
  | 'entryPoint'
  | 'instructions'
  | 'user'
  | 'tenant'
  | 'metadata'
  | 'conversation'
  | 'input'
  | 'requestOptions'
  | 'clientTools'
  | 'origin'
  | 'abort'
  | 'answer'
  | 'callBudget'
  | 'quota'
  | 'checkTime'
  | 'waiting'
  | 'parent'
  | 'replays'
  | 'callChild'
  | 'isLook'
> &
  Partial<Pick<AgentRun, 'toolCallId' | 'isInTool' | 'callId' | 'own'>>

/** Changes by which a view differs from the run that it is a view of. */
type ViewChanges = RunOverrides & Partial<Pick<AgentRun, 'isInTool' | 'callId'>>

const NOTHING = Object.freeze({})
const NONE = Object.freeze([])

/** A run as the host creates it; modules see its {@link Run} side. There may be several views of one run: they share `abort`, `answer` and `waiting`. */
export class AgentRun implements Run {
  readonly id: string
  readonly agentId: string
  readonly agentVersion: string
  readonly variant: readonly TracedChange[] | undefined
  readonly entryPoint: string
  readonly instructions: string | undefined
  readonly user: string | undefined
  readonly tenant: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** See `Turn.conversation`. */
  readonly conversation: string | undefined
  readonly input: Readonly<Record<string, unknown>> | undefined
  readonly requestOptions: Readonly<ModelOptions>
  readonly clientTools: readonly ToolDefinition[]
  readonly origin: RunOrigin | undefined
  readonly toolCallId: string | undefined
  /** True within the code of a tool: its own calls are not part of the conversation. */
  readonly isInTool: boolean
  /** The observed call within which this view of the run was handed out; undefined outside any. */
  readonly callId: string | undefined
  readonly abort: RunAbort
  readonly answer: RunAnswer
  /** Absent where the calls of the run are not limited. */
  readonly callBudget: CallBudget | undefined
  /** Absent where the sender has no limits. */
  readonly quota: RunQuota | undefined
  readonly checkTime: CheckTime
  readonly waiting: RunWaiting
  /** Run that began this one; undefined for a run that a client began. */
  readonly parent: ParentRun | undefined
  readonly replays: ReplayOrigin | undefined
  readonly callChild: CallChild | undefined
  /** True for a look: no listener learns of it. */
  readonly isLook: boolean
  /** Signal and methods of this view, in the place of those of the run. */
  readonly own: Pick<RunOverrides, 'signal' | 'addUsage' | 'markIncomplete' | 'reportProgress'>

  static begin(
    {
      agentId,
      agentVersion,
      variant,
      entryPoint,
      parent,
      replays,
      callChild,
      isLook = false,
      quota,
      approvalTtl,
    }: RunOwner,
    turn: Turn,
  ): AgentRun {
    const { runId: id = randomUUID(), tenant = '', metadata = NOTHING, requestOptions = NOTHING } = turn
    const { instructions, user, conversation, input, clientTools = NONE, traceparent, background = false } = turn
    const abort = new RunAbort()
    const answer = new RunAnswer(id, turn, abort)
    const { maxToolCalls } = turn
    const callBudget = parent?.callBudget ?? (maxToolCalls === undefined ? undefined : new CallBudget(maxToolCalls))
    const waiting = new RunWaiting(id, turn, answer, approvalTtl)
    return new AgentRun(
      {
        id,
        agentId,
        agentVersion,
        variant,
        entryPoint,
        instructions,
        user,
        tenant,
        metadata,
        conversation,
        input,
        requestOptions,
        clientTools,
        origin: traceparent === undefined ? undefined : { traceparent, background },
        abort,
        answer,
        callBudget,
        quota: parent?.quota ?? quota,
        checkTime: parent?.checkTime ?? new CheckTime(),
        waiting,
        parent,
        replays,
        callChild,
        isLook,
      },
      NOTHING,
    )
  }

  /** Assigns every property in a fixed order: V8 reads objects of one shape faster. */
  private constructor(run: RunSpec, changes: ViewChanges) {
    this.id = run.id
    this.agentId = run.agentId
    this.agentVersion = run.agentVersion
    this.variant = run.variant
    this.entryPoint = run.entryPoint
    this.instructions = changes.instructions ?? run.instructions
    this.user = changes.user ?? run.user
    this.tenant = run.tenant
    this.metadata = changes.metadata ?? run.metadata
    this.conversation = run.conversation
    this.input = changes.input ?? run.input
    this.requestOptions = changes.requestOptions ?? run.requestOptions
    this.clientTools = run.clientTools
    this.origin = run.origin
    this.toolCallId = changes.toolCallId ?? run.toolCallId
    this.isInTool = changes.isInTool ?? run.isInTool ?? false
    this.callId = changes.callId ?? run.callId
    this.abort = run.abort
    this.answer = run.answer
    this.callBudget = run.callBudget
    this.quota = run.quota
    this.checkTime = run.checkTime
    this.waiting = run.waiting
    this.parent = run.parent
    this.replays = run.replays
    this.callChild = run.callChild
    this.isLook = run.isLook
    this.own = mergeOwn(run.own ?? NOTHING, changes)
  }

  get signal(): AbortSignal {
    return this.own.signal ?? this.abort.signal
  }

  throwIfStopped(): void {
    this.own.signal?.throwIfAborted()
    this.abort.throwIfRequested()
    // The code of a tool goes on: the other calls of a step are executed, too.
    if (this.waiting.hasBegun && !this.isInTool) throw RUN_WAITS
  }

  /** Fails the run with an error of its request, even if the handler catches it. */
  refuse(message: string, field?: string): HostError {
    const refusal = badRequest(message, { field })
    this.abort.request(refusal)
    return refusal
  }

  addUsage(usage: Partial<Usage>): void {
    if (this.own.addUsage) this.own.addUsage(usage)
    else this.answer.addUsage(usage)
  }

  markIncomplete(reason: string): void {
    if (this.own.markIncomplete) this.own.markIncomplete(reason)
    else this.answer.markIncomplete(reason)
  }

  reportProgress(message: string): void {
    if (this.own.reportProgress) this.own.reportProgress(message)
    else this.answer.reportProgress(message)
  }

  checkInTime<T>(check: () => T): T {
    return this.checkTime.spend(check)
  }

  async ask(question: Question | (() => Promise<Question>)): Promise<unknown> {
    const { toolCallId: callId, waiting } = this
    if (!this.isInTool || callId === undefined) {
      throw badRequest('run.ask was called outside of a tool.', {
        suggestions: ['Call it inside executeTool, with the run that the tool was given.'],
      })
    }
    if (waiting.onQuestion)
      return waiting.onQuestion(checkQuestion(typeof question === 'function' ? await question() : question))
    const given = waiting.answers.answerTo(callId)
    // No person rejects a question, but its time may be over. A call that a person has rejected does not come here.
    if (given?.kind === 'approval' && given.decision === 'reject') throw new Error(given.reason)
    const answers = given?.kind === 'question' ? given.answers : []
    const index = waiting.answers.nextQuestion(callId)
    if (index < answers.length) return answers[index]
    const { message, schema, url } = checkQuestion(typeof question === 'function' ? await question() : question)
    const recorded = this.answer.trail.begin('', NOTHING, callId)
    recorded.isPending = true
    const { name, arguments: proposed } = recorded.call
    const args = recorded.decision?.arguments ?? proposed
    // Several calls may need one sign-in: the first of them asks, and the others go on after it.
    if (url !== undefined && waiting.pending.some((pending) => pending.url === url)) throw RUN_WAITS
    const answered = { message, schema, ...(url === undefined ? {} : { url }), earlierAnswers: answers }
    throw waiting.begin({ callId, kind: 'question', name, arguments: args, ...answered })
  }

  callAgent(call: AgentCall): Promise<AgentReply> {
    if (this.callChild) return this.callChild(this, call)
    const reason = `There are no agents to call here, '${call.agent}' neither.`
    return Promise.reject(badRequest(reason))
  }

  /** @inheritdoc Overrides stay in every view of this run. */
  with(overrides: RunOverrides): AgentRun {
    return new AgentRun(this, overrides)
  }

  /** The same run within an observed call: calls made with it are children of that call. */
  within(callId: string): AgentRun {
    return new AgentRun(this, { callId })
  }

  /** The same run, for the code of a tool. */
  inTool(toolCallId: string): AgentRun {
    return new AgentRun(this, { toolCallId, isInTool: true })
  }

  toJSON(): { run: string } {
    return { run: this.id }
  }
}

/** @throws HostError `REQUEST_INVALID` for an address that no browser opens */
function checkQuestion(question: Question): Question {
  const { url } = question
  if (url === undefined || (URL.canParse(url) && /^https?:/i.test(url))) return question
  throw badRequest(`run.ask was called with the url '${url}', which is no http(s) address.`, {
    suggestions: ['Write the whole address, with https:// before it.'],
  })
}

function mergeOwn(before: AgentRun['own'], changes: ViewChanges): AgentRun['own'] {
  const { signal, addUsage, markIncomplete, reportProgress } = changes
  if (!signal && !addUsage && !markIncomplete && !reportProgress) return before
  return {
    signal: signal ?? before.signal,
    addUsage: addUsage ?? before.addUsage,
    markIncomplete: markIncomplete ?? before.markIncomplete,
    reportProgress: reportProgress ?? before.reportProgress,
  }
}
