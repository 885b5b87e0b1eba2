import type { AgentDefinition } from '../../definition/definition.ts'
import type { LoadedModule } from '../../module/load-module.ts'
import type { AgentRun } from '../agent-run.ts'
import type { RunResult, Turn } from '../turn.ts'

/** A protocol whose provider is reached from here. */
export interface Place {
  readonly moduleId: string
  /** Id of the module that calls it, or `agent:<id>`. */
  readonly callerId: string
  readonly protocol: { readonly name: string; readonly methods: readonly string[] }
  /** True for a module that says `boundary: true`. */
  readonly isDeclared: boolean
}

/** Agent of a run, as far as a tape tells of it. */
export interface BoundedAgent {
  readonly id: string
  readonly version: string
  /** Relative to the project; undefined for an agent that a program registered. */
  readonly file: string | undefined
  readonly definition: AgentDefinition
  readonly loaded: ReadonlyMap<string, LoadedModule>
  /** Files of the project that it consists of (absolute paths); its modules add to them when they are created. */
  readonly files: ReadonlySet<string>
}

/**
 * Stands where calls leave an agent: between a module and the models, tools, memories and records that it uses. Records those
 * calls, or answers them itself.
 */
export interface Boundaries {
  /**
   * Called when a run begins.
   *
   * @param result settles when the run ends
   * @returns false for a run whose calls are none of its concern
   */
  begin(run: AgentRun, turn: Turn, result: Promise<RunResult>, agent: BoundedAgent): boolean
  /**
   * Returns the provider as its caller gets it.
   *
   * @param run undefined for modules that all runs share: a call then belongs to the run that it passes
   */
  attach(provider: object, place: Place, run: AgentRun | undefined): object
}

/** Both, the inner one next to the modules: the outer one sees what the inner one makes of a call. */
export function behind(outer: Boundaries, inner: Boundaries): Boundaries {
  return {
    begin: (...run) => [inner.begin(...run), outer.begin(...run)].includes(true),
    attach: (provider, place, run) => outer.attach(inner.attach(provider, place, run), place, run),
  }
}
