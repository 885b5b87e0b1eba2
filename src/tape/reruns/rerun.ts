import { readDefinition } from '../../definition/definition.ts'
import { toAgentFile } from '../../definition/to-agent-file.ts'
import { badRequest } from '../../errors.ts'
import { type AgentHost, START_REPLAY } from '../../host/host.ts'
import { makeNameSecrets } from '../../redaction/redact.ts'
import type { AgentRun } from '../../run/agent-run.ts'
import type { Boundaries, BoundedAgent, Place } from '../../run/calls/boundaries.ts'
import type { RunHandle, RunResult, Turn } from '../../run/turn.ts'
import type { VariantChange } from '../../wire/variant.ts'
import { planAgent } from '../../wiring/plan-agent.ts'
import { ENTRY } from '../../wiring/wiring.ts'
import { asksForNeed } from '../boundary.ts'
import type { Tape, TapedCall, TapedRun } from '../file/read-tape.ts'
import { describeDivergence } from '../replaying/divergence.ts'
import { decodeTurn, findLive, toTurn } from '../replaying/replay.ts'
import { withStandIns } from '../replaying/stand-ins.ts'
import { type PlayerOptions, TapePlayer } from '../replaying/tape-player.ts'
import { type CallEdit, editTape } from './edit-tape.ts'
import { withoutDecisions } from './without-decisions.ts'

export interface RerunOptions {
  readonly tape: Tape
  /** Run of the tape. */
  readonly run: TapedRun
  /** Call of that run from which the rerun goes its own way. */
  readonly call: TapedCall
  readonly edit: CallEdit
  /** Values of the agent to change, after those that the variant of the recorded run changed. */
  readonly changes: readonly VariantChange[]
  /** `llm`, `tools`, or ids of modules: these are called for real from there on. */
  readonly live: readonly string[]
}

/** Rerun that has begun. */
export interface StartedRerun {
  readonly handle: RunHandle
  /** Name of the agent, and the turn. */
  readonly agent: string
  readonly turn: Turn
  /** Number of the call on the tape. */
  readonly fromCall: number
}

/**
 * Runs the turn of a recorded run again. Everything before a call comes from the tape; from there on the named modules are called for
 * real, and the others still come from the tape. A call that the tape does not have fails the run.
 *
 * @throws HostError `REQUEST_INVALID`, `OPTION_INVALID` for a module that the agent does not have, `AGENT_NOT_FOUND`, `OVERLOADED`,
 *   `SHUTTING_DOWN`; AgentError `AGENT_INVALID` for changes that no variant may have, and when the agent cannot be planned
 */
export async function startRerun(host: AgentHost, options: RerunOptions): Promise<StartedRerun> {
  const { tape, run: recorded, call, edit } = options
  const offset = tape.runs.slice(0, tape.runs.indexOf(recorded)).reduce((sum, { calls }) => sum + calls.length, 0)
  const { run, from } = editTape(recorded, call.line.call, edit)
  const { entry_point: entryPoint, run_id } = run.turn
  const { id } = run.head.agent
  const fromCall = call.line.call + offset
  const changes = mergeChanges([...(decodeTurn(run).variant ?? []), ...options.changes])
  const name = entryPoint === ENTRY ? id : `${id}/${entryPoint}`
  let bounded: ReplayBounds | undefined
  let turn: Turn = { messages: [] }
  const handle = await host[START_REPLAY](name, {
    replays: { run_id, from_call: fromCall },
    async plan({ definition, file }, project) {
      const source = toAgentFile(definition)
      const live = await findLive(options.live, run, project, source, file)
      if (edit.result !== undefined && live.has(call.line.module) && asksForNeed(call.line))
        throw badRequest('result: with live tools their policies are asked for real', {
          field: 'result',
        })
      const standIns = await withStandIns({ project, source, file, live, changes })
      const blueprint = await planAgent(standIns.agent, file, project)
      const hide = makeNameSecrets(project.environment)
      bounded = { agent: standIns.bounded, player: { run, offset, from: from + offset, live, hide } }
      // The run is one of the agent that the stand-ins stand for.
      return { ...blueprint, source: readDefinition(toAgentFile(standIns.bounded.definition), file) }
    },
    bound: (own) => new RerunBoundaries(bounded as ReplayBounds, own),
    turn: (version) => {
      turn = withoutDecisions(toRerunTurn(run, version, changes), (bounded as ReplayBounds).player)
      return turn
    },
  })
  return { handle, agent: name, turn, fromCall }
}

/** Of several changes of one value the last counts. */
function mergeChanges(changes: readonly VariantChange[]): readonly VariantChange[] {
  const byPlace = new Map(changes.map((change) => [JSON.stringify([change.agent, change.module, change.path]), change]))
  return [...byPlace.values()]
}

/** The turn as a new one: it is not awaited, and it continues no other run. */
function toRerunTurn(run: TapedRun, version: string, changes: readonly VariantChange[]): Turn {
  const { runId: _id, traceparent: _trace, background: _background, ...turn } = toTurn(run, version)
  const pending = turn.pending?.map(({ runId: _run, ...call }) => call)
  return { ...turn, pending, variant: changes.length === 0 ? undefined : changes }
}

interface ReplayBounds {
  /** Without stand-ins. */
  readonly agent: Pick<BoundedAgent, 'definition' | 'loaded'>
  readonly player: Pick<PlayerOptions, 'run' | 'offset' | 'from' | 'live' | 'hide'>
}

/** Answers the calls of a rerun from its tape, and hands them to the recorder of the host as it does those of other runs. */
class RerunBoundaries implements Boundaries {
  readonly #agent: ReplayBounds['agent']
  readonly #player: TapePlayer
  readonly #recorder: Boundaries | undefined
  #run: AgentRun | undefined

  constructor({ agent, player }: ReplayBounds, recorder: Boundaries | undefined) {
    this.#agent = agent
    this.#recorder = recorder
    this.#player = new TapePlayer({
      ...player,
      isLenient: true,
      onDivergence: (divergence) => this.#fail(describeDivergence(divergence).join('\n')),
      onCutOff: () => this.#fail('The tape ends here: its run was stopped.'),
      onCall: () => {},
      onPlayed: () => {},
    })
  }

  begin(run: AgentRun, turn: Turn, result: Promise<RunResult>, agent: BoundedAgent): boolean {
    this.#run = run
    const { definition, loaded } = this.#agent
    const files = [...loaded.values()].flatMap((module) => module.files)
    this.#recorder?.begin(run, turn, result, {
      ...agent,
      definition,
      loaded,
      files: new Set([...agent.files, ...files]),
    })
    return this.#player.begin(run, turn, result)
  }

  attach(provider: object, place: Place, run: AgentRun | undefined): object {
    const played = this.#player.attach(provider, place)
    return this.#recorder?.attach(played, place, run) ?? played
  }

  #fail(reason: string): void {
    this.#run?.abort.request(new Error(reason))
  }
}
