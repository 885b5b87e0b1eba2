import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import type { Environment } from '../definition/interpolate.ts'
import { silentLog } from '../protocols/log.ts'
import type { StorageSource } from '../protocols/storage.ts'
import { EventListeners } from '../run/calls/agent-events.ts'
import { questionOf } from '../tape/file/question-of.ts'
import { lastRunOf, readTapeFile, type Tape } from '../tape/file/read-tape.ts'
import { describeDivergence } from '../tape/replaying/divergence.ts'
import { loadCode, type Replay, type ReplayObserver, replayTape } from '../tape/replaying/replay.ts'
import type { EvalColumn } from '../wire/eval-result.ts'
import { type CaseRun, type CaseTraces, notRun, RunNotes } from './case-run.ts'
import type { ProjectAgents } from './project-agents.ts'
import type { EvalCase } from './read-cases.ts'
import type { RunUsage } from './run-usage.ts'

export interface TapedRunsOptions {
  /** Absolute. */
  readonly projectDir: string
  readonly agents: ProjectAgents
  /** Names of what is called for real, as `replay` takes them. */
  readonly live: readonly string[]
  readonly environment: Environment
  /** Records of modules that are called for real. */
  readonly storage: StorageSource
  readonly usage: RunUsage
  readonly traces: CaseTraces | undefined
}

/** Runs cases with what their tapes recorded in the place of tools, memories and records, and of models unless those are live. */
export class TapedRuns {
  readonly #options: TapedRunsOptions
  readonly #code: ReturnType<typeof loadCode>

  constructor(options: TapedRunsOptions) {
    this.#options = options
    this.#code = loadCode(options.projectDir)
  }

  /**
   * Id of the agent that a tape is of.
   *
   * @throws HostError `TAPE_INVALID`
   */
  async agentOf(path: string): Promise<string> {
    return lastRunOf(await this.#read(path)).head.agent.id
  }

  async run(path: string, given: EvalCase, column: EvalColumn, signal: AbortSignal): Promise<CaseRun> {
    const { projectDir, agents, live, environment, storage, usage, traces } = this.#options
    const startedMs = performance.now()
    const notes = new RunNotes()
    let input: unknown = given.input
    try {
      const tape = await this.#read(path)
      const question = questionOf(tape)
      input ??= question
      const ids = new NewIds(tape)
      const outcome = await replayTape(tape, {
        projectDir,
        agent: agents.get(column.agent),
        changes: column.changes,
        environment,
        storage,
        live,
        signal,
        code: this.#code,
        // As it was recorded, where it is the same: text may stand beside pictures.
        input: input === question ? undefined : String(input),
        onEvent: notes.onEvent,
        observer: observe(ids, usage, traces && { traces, caseId: given.id, changes: column.changes }),
      })
      const { inputTokens, outputTokens, cost, agentVersion } = usage.take(ids.last)
      return {
        input,
        agentVersion,
        run_id: ids.last,
        ...describeEnd(outcome, live, signal),
        tools: notes.tools,
        ...notes.waitsOf(outcome.runs.at(-1)?.pending ?? []),
        is_played: outcome.liveCalls === 0,
        duration_ms: performance.now() - startedMs,
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        cost,
      }
    } catch (error) {
      return notRun(input, error)
    }
  }

  #read(path: string): Promise<Tape> {
    return readTapeFile(resolve(this.#options.projectDir, path), path)
  }
}

/** Ids of new runs for those of a tape. */
class NewIds {
  readonly #ids: ReadonlyMap<string, string>

  constructor({ runs }: Tape) {
    this.#ids = new Map(runs.map(({ turn }) => [turn.run_id, randomUUID()]))
  }

  /** Of the run that the answer is of. */
  get last(): string {
    return [...this.#ids.values()].at(-1) ?? ''
  }

  of(runId: string | null): string | null {
    return this.#ids.get(runId ?? '') ?? null
  }
}

interface Tracing {
  readonly traces: CaseTraces
  readonly caseId: string
  readonly changes: EvalColumn['changes']
}

function observe(ids: NewIds, usage: RunUsage, tracing: Tracing | undefined): ReplayObserver {
  const events = new EventListeners(silentLog)
  events.add((event) => usage.add({ ...event, run_id: ids.last }), '')
  if (!tracing) return { events, onRunEnd() {} }
  const { traces, caseId, changes } = tracing
  const variant = changes.length === 0 ? null : changes
  events.add((event) => {
    const own = { run_id: ids.of(event.run_id), continues: ids.of(event.continues), variant, eval_case: caseId }
    traces.record({ ...event, ...own })
  }, '')
  return { events, onRunEnd: (end) => traces.recordEnd({ ...end, runId: ids.of(end.runId) ?? end.runId }) }
}

/** A different answer is for the scorers to judge; a call that no tape has ends the run. */
function describeEnd(
  { runs, divergence }: Replay,
  live: readonly string[],
  signal: AbortSignal,
): Pick<CaseRun, 'status' | 'output' | 'error'> {
  const last = runs.at(-1)
  const output = last?.text ?? ''
  if (signal.aborted) return { status: 'cancelled', output, error: 'The eval was stopped.' }
  if (divergence?.kind === 'call') {
    const advice = live.length === 0 ? ['With --live llm the model answers instead of the tape.'] : []
    return { status: 'failed', output, error: [...describeDivergence(divergence), ...advice].join('\n') }
  }
  if (last?.isBeyond) return { status: 'failed', output, error: 'The recorded run failed, and its tape ends there.' }
  const status = last?.status ?? 'failed'
  return { status, output, error: status === 'cancelled' ? 'The recorded run was cancelled.' : (last?.error ?? null) }
}
