import { hideSecrets, type Redact } from '../../redaction/redact.ts'
import type { AgentRun } from '../../run/agent-run.ts'
import type { Boundaries, BoundedAgent, Place } from '../../run/calls/boundaries.ts'
import type { RunResult, Turn } from '../../run/turn.ts'
import { isBoundary, wrapMethods } from '../boundary.ts'
import { hideSecretsInCalls } from '../file/hide-secrets.ts'
import { makeHead } from '../recording/make-head.ts'
import { RunRecorder } from '../recording/run-recorder.ts'
import type { TapePlayer } from './tape-player.ts'

export interface PlayRecorderOptions extends Pick<BoundedAgent, 'definition' | 'loaded' | 'file'> {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly hide: Redact
  /**
   * Takes the lines of the new tape, without their newlines.
   *
   * @param files of a head: absolute paths of those whose hashes belong to it
   */
  readonly add: (line: string, files?: readonly string[]) => void
}

/** Records a replay: what its player answers, and what live modules do. */
export class PlayRecorder implements Boundaries {
  readonly #player: TapePlayer
  readonly #options: PlayRecorderOptions
  #recorder: RunRecorder | undefined

  constructor(player: TapePlayer, options: PlayRecorderOptions) {
    this.#player = player
    this.#options = options
  }

  begin(run: AgentRun, turn: Turn, result: Promise<RunResult>, agent: BoundedAgent): boolean {
    const { definition, loaded, file, environment, hide, add } = this.#options
    const own = [...loaded.values()].flatMap(({ files }) => files)
    const files = [...new Set([...agent.files, ...own])]
    add(
      hideSecrets(
        JSON.stringify(makeHead({ ...agent, definition, loaded, file, files: new Set(files) }, environment)),
        hide,
      ),
      files,
    )
    const lines: string[] = []
    const recorder = new RunRecorder(run, turn, {
      add: (line) => void lines.push(JSON.stringify(line)),
      end(line) {
        lines.push(JSON.stringify(line))
        for (const hidden of hideSecretsInCalls(lines, hide)) add(hidden)
      },
    })
    this.#recorder = recorder
    result.then(
      (ended) => recorder.succeed(ended),
      (error) => recorder.fail(error),
    )
    return this.#player.begin(run, turn, result)
  }

  attach(provider: object, place: Place): object {
    const played = this.#player.attach(provider, place)
    if (!isBoundary(place)) return played
    return wrapMethods(played, place, (method, name, args) => {
      const recorder = this.#recorder
      if (!recorder) return method.apply(played, [...args])
      if (name === 'needsApproval') return recorder.noteNeed(() => method.apply(played, [...args]), args, place)
      return recorder.call(played, method, name, args, place)
    })
  }
}
