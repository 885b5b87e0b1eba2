import { randomUUID } from 'node:crypto'
import { HostError } from '../errors.ts'
import type { ModelOptions } from '../protocols/model-options.ts'
import type { Question, Run, RunOverrides, Usage } from '../protocols/run.ts'
import type { ToolDefinition } from '../protocols/tool-definition.ts'
import { RunState } from './run-state.ts'
import type { Turn } from './turn.ts'

/** An agent's side of a run that is to be created. */
export interface RunOwner {
  readonly agentId: string
  readonly agentVersion: string
  readonly entryPoint: string
}

const NOTHING = Object.freeze({})

/** A run as the host creates it; modules see its {@link Run} side. There may be several views of one run, with one state. */
export class AgentRun implements Run {
  readonly id: string
  readonly agentId: string
  readonly entryPoint: string
  readonly instructions: string | undefined
  readonly user: string | undefined
  readonly metadata: Readonly<Record<string, unknown>>
  readonly input: Readonly<Record<string, unknown>> | undefined
  readonly requestOptions: Readonly<ModelOptions>
  readonly toolCallId: string | undefined = undefined
  /** True within the code of a tool: its own calls are not part of the conversation. */
  readonly isInTool: boolean = false
  /** The observed call within which this view of the run was handed out; undefined outside any. */
  readonly callId: string | undefined = undefined
  readonly state: RunState
  /** Replaces the signal of the run in this view. */
  readonly ownSignal: AbortSignal | undefined = undefined

  constructor({ agentId, agentVersion, entryPoint }: RunOwner, turn: Turn) {
    this.id = turn.runId ?? randomUUID()
    this.agentId = agentId
    this.entryPoint = entryPoint
    this.instructions = turn.instructions
    this.user = turn.user
    this.metadata = turn.metadata ?? NOTHING
    this.input = turn.input
    this.requestOptions = turn.requestOptions ?? NOTHING
    this.state = new RunState(agentVersion, turn)
  }

  get signal(): AbortSignal {
    return this.ownSignal ?? this.state.signal
  }

  throwIfStopped(): void {
    this.ownSignal?.throwIfAborted()
    this.state.throwIfAborted()
    // The code of a tool goes on: the other calls of a step are executed, too.
    if (this.state.isWaiting && !this.isInTool) throw this.state.waits
  }

  get clientTools(): readonly ToolDefinition[] {
    return this.state.clientTools
  }

  addUsage(usage: Partial<Usage>): void {
    this.state.addUsage(usage)
  }

  markIncomplete(reason: string): void {
    this.state.markIncomplete(reason)
  }

  reportProgress(message: string): void {
    this.state.reportProgress(message)
  }

  async ask({ message, schema }: Question): Promise<unknown> {
    const { toolCallId: callId, state } = this
    if (!this.isInTool || callId === undefined) {
      throw new HostError('REQUEST_INVALID', 'run.ask was called outside of a tool.', {
        suggestions: ['Call it inside executeTool, with the run that the tool was given.'],
      })
    }
    const answer = state.answers.answerTo(callId)
    const answers = answer?.kind === 'question' ? answer.answers : []
    const index = state.answers.nextQuestion(callId)
    if (index < answers.length) return answers[index]
    const recorded = state.trail.begin('', NOTHING, callId)
    recorded.isPending = true
    const { name, arguments: proposed } = recorded.call
    const args = recorded.decision?.arguments ?? proposed
    throw state.wait({ callId, kind: 'question', name, arguments: args, schema, message, earlierAnswers: answers })
  }

  /** @inheritdoc Overrides stay in every view of this run. */
  with({ signal, ...overrides }: RunOverrides): AgentRun {
    return derive(this, { ...overrides, ownSignal: signal })
  }

  /** The same run within an observed call: calls made with it are children of that call. */
  within(callId: string): AgentRun {
    return derive(this, { callId })
  }

  /** The same run, for the code of a tool. */
  inTool(toolCallId: string): AgentRun {
    return derive(this, { toolCallId, isInTool: true })
  }

  toJSON(): { run: string } {
    return { run: this.id }
  }
}

/** A view of the same run: its own properties, overridden ones included, with these changes. */
function derive(run: AgentRun, changes: Readonly<Record<string, unknown>>): AgentRun {
  const view = Object.assign(Object.create(AgentRun.prototype), run)
  for (const name in changes) if (changes[name] !== undefined) view[name] = changes[name]
  return view
}
