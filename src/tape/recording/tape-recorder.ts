import { AgentRun } from '../../run/agent-run.ts'
import type { Boundaries, BoundedAgent, Place } from '../../run/calls/boundaries.ts'
import type { RunResult, Turn } from '../../run/turn.ts'
import { isBoundary, wrapMethods } from '../boundary.ts'
import { makeHead } from './make-head.ts'
import { RunRecorder } from './run-recorder.ts'
import type { HeadToWrite, TapeWriter } from './tape-writer.ts'

export interface TapeRecorderOptions {
  readonly writer: TapeWriter
  /** Part of the runs that are recorded, from 0 to 1. */
  readonly share: number
  /** Source of `${NAME}` in a config. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Called with each run that begins. */
  readonly onRun?: (run: AgentRun, isRecorded: boolean, result: Promise<RunResult>) => void
}

/** Records the runs of a host, each as a tape. */
export class TapeRecorder implements Boundaries {
  readonly #options: TapeRecorderOptions
  readonly #runs = new WeakMap<AgentRun['answer'], RunRecorder>()
  /** By what is the same for all runs of one version of an agent; variants have definitions of their own. */
  readonly #heads = new WeakMap<BoundedAgent['definition'], HeadToWrite>()

  constructor(options: TapeRecorderOptions) {
    this.#options = options
  }

  begin(run: AgentRun, turn: Turn, result: Promise<RunResult>, agent: BoundedAgent): boolean {
    // Calls of a single module are no turns.
    if (turn.messages.length === 0) return false
    const isRecorded = this.#takes(run)
    this.#options.onRun?.(run, isRecorded, result)
    if (!isRecorded) return false
    const sink = this.#options.writer.open(run.id, run.waiting.continues, () => this.#headOf(agent))
    const recorder = new RunRecorder(run, turn, sink)
    this.#runs.set(run.answer, recorder)
    result.then(
      (ended) => recorder.succeed(ended),
      (error) => recorder.fail(error),
    )
    return true
  }

  attach(provider: object, place: Place, run: AgentRun | undefined): object {
    if (!isBoundary(place)) return provider
    return wrapMethods(provider, place, (method, name, args) => {
      const last = args.at(-1)
      const recorder = this.#recorderOf(last instanceof AgentRun ? last : run)
      if (!recorder) return method.apply(provider, [...args])
      if (name === 'needsApproval') return recorder.noteNeed(() => method.apply(provider, [...args]), args, place)
      return recorder.call(provider, method, name, args, place)
    })
  }

  #recorderOf(run: AgentRun | undefined): RunRecorder | undefined {
    return run && this.#runs.get(run.answer)
  }

  /** A run that continues another belongs to its tape. */
  #takes({ waiting }: AgentRun): boolean {
    const { share, writer } = this.#options
    return share >= 1 || (waiting.continues !== null && writer.has(waiting.continues)) || Math.random() < share
  }

  #headOf(agent: BoundedAgent): HeadToWrite {
    const known = this.#heads.get(agent.definition)
    // Modules may have named more files since.
    if (known && known.files.length === agent.files.size) return known
    const head = { line: makeHead(agent, this.#options.environment), files: [...agent.files] }
    this.#heads.set(agent.definition, head)
    return head
  }
}
