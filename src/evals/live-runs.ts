import { randomUUID } from 'node:crypto'
import { Opening } from '../async.ts'
import type { Problem } from '../definition/problem.ts'
import { HostError } from '../errors.ts'
import type { AgentHost } from '../host/host.ts'
import type { Message } from '../protocols/message.ts'
import type { EvalColumn } from '../wire/eval-result.ts'
import { type CaseRun, type CaseTraces, describeError, notRun, RunNotes } from './case-run.ts'
import type { EvalCase } from './read-cases.ts'
import type { RunUsage } from './run-usage.ts'

/** Agents of a project in service. */
export interface LiveProject {
  readonly host: AgentHost
  problems(): readonly Problem[]
  close(): Promise<void>
}

/** Runs cases with the agents themselves. The project is opened for the first of them. */
export class LiveRuns {
  readonly #project: Opening<LiveProject>
  readonly #usage: RunUsage
  /** Cases by their runs, and by the runs that these began. */
  readonly #cases = new Map<string, string>()

  constructor(open: () => Promise<LiveProject>, usage: RunUsage, traces: CaseTraces | undefined) {
    this.#usage = usage
    this.#project = new Opening(async () => {
      const project = await open()
      project.host.onEvent(usage.add)
      if (traces) this.#trace(project.host, traces)
      return project
    })
  }

  async run({ id, input = '' }: EvalCase, { agent, changes }: EvalColumn, signal: AbortSignal): Promise<CaseRun> {
    let project: LiveProject
    try {
      project = await this.#project.open()
    } catch (error) {
      return notRun(input, error)
    }
    const { host } = project
    if (!host.has(agent)) return notRun(input, describeMissing(agent, project))
    const variant = changes.length === 0 ? undefined : changes
    const runId = randomUUID()
    this.#cases.set(runId, id)
    const notes = new RunNotes()
    const startedMs = performance.now()
    const toRun = (ended: Pick<CaseRun, 'status' | 'output' | 'error' | 'waits'>): CaseRun => {
      const { inputTokens, outputTokens, cost, agentVersion } = this.#usage.take(runId)
      return {
        ...ended,
        input,
        agentVersion,
        run_id: runId,
        tools: notes.tools,
        is_played: false,
        duration_ms: performance.now() - startedMs,
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        cost,
      }
    }
    try {
      if (variant) await host.openVariant(agent, variant)
      const messages: string | readonly Message[] = input
      const { status, text, pending } = await host.run(agent, messages, {
        runId,
        variant,
        signal,
        onEvent: notes.onEvent,
      })
      notes.addPending(pending)
      return toRun({ status, output: text, error: null, ...notes.waitsOf(pending) })
    } catch (error) {
      const code = error instanceof HostError ? error.code : undefined
      if (code !== undefined && REFUSED.has(code)) return notRun(input, error)
      const status = code === 'RUN_ABORTED' && signal.aborted ? 'cancelled' : 'failed'
      return toRun({ status, output: notes.text, error: describeError(error) })
    }
  }

  #trace(host: AgentHost, traces: CaseTraces): void {
    host.onEvent((event) => {
      const { run_id: runId, parent_run_id: parent } = event
      if (runId === null) return
      const caseId = this.#cases.get(runId) ?? this.#cases.get(parent ?? '')
      if (caseId === undefined) return
      this.#cases.set(runId, caseId)
      traces.record({ ...event, eval_case: caseId })
    })
    host.onRunEnd((end) => {
      traces.recordEnd(end)
      this.#cases.delete(end.runId)
    })
  }

  async close(): Promise<void> {
    await (await this.#project.whenOpen())?.close()
  }
}

/** The run did not begin. */
const REFUSED: ReadonlySet<string> = new Set(['AGENT_NOT_FOUND', 'AGENT_INVALID', 'OVERLOADED', 'REQUEST_INVALID'])

/** An agent that is not there may be one whose file is broken. */
function describeMissing(agent: string, { host, problems }: LiveProject): string {
  const known = host.list().map(({ id }) => id)
  const broken = problems().map(({ file, line, message }) => `${[file, line].filter(Boolean).join(':')}: ${message}`)
  const others = known.length > 0 ? ` Agents: ${known.join(', ')}.` : ''
  return [`There is no agent '${agent}'.${others}`, ...broken].join('\n')
}
