import { basename, resolve } from 'node:path'
import { list, OBJECT, object, optional, requireGiven, TEXT } from '../../given.ts'
import type { StorageSource } from '../../protocols/storage.ts'
import type { RunStatus } from '../../run/run-event.ts'
import { readTapeFile } from '../file/read-tape.ts'
import { jsonFields } from '../file/tape-values.ts'
import { describeDivergence } from '../replaying/divergence.ts'
import { findAgent } from '../replaying/find-agent.ts'
import { replayTape } from '../replaying/replay.ts'

const OPTIONS = object({ live: optional(list(TEXT)), projectDir: optional(TEXT), environment: optional(OBJECT) })

/** Options of `replay`. */
export interface SavedReplayOptions {
  /** `llm`, `tools`, or ids of modules: these are called for real. Default: none. */
  readonly live?: readonly string[]
  /** Default: the working directory. */
  readonly projectDir?: string
  /** Source of `${NAME}` in a config. Default: `process.env`; what is missing comes from the tape. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/** Outcome of `replay`. */
export interface SavedReplay {
  /** Calls of tools in their order. */
  readonly tools: readonly { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }[]
  /** Text of the answer. */
  readonly answer: string
  /** `beyond`: a run that had failed no longer does, and went on to where its tape ends. */
  readonly end: RunStatus | 'beyond'
  /** Message of a run that failed; null for any other. */
  readonly error: string | null
  /** First difference from the tape, in words; null when there is none. */
  readonly difference: string | null
}

/** Replays a tape with the agent of the project that it is of. */
export async function replaySaved(
  tapeFile: string,
  options: SavedReplayOptions,
  storage: StorageSource,
): Promise<SavedReplay> {
  requireGiven(TEXT, tapeFile, 'tape')
  requireGiven(OPTIONS, options, 'options')
  const { live = [], projectDir = '.', environment = process.env } = options
  const dir = resolve(projectDir)
  const tape = await readTapeFile(resolve(dir, tapeFile), basename(tapeFile))
  const tools: { name: string; arguments: Readonly<Record<string, unknown>> }[] = []
  const { runs, divergence } = await replayTape(tape, {
    projectDir: dir,
    agent: await findAgent(tape, { projectDir: dir }),
    environment,
    live,
    storage,
    onCall({ protocol, method, arguments: [name = null, given = null] }) {
      if (protocol === 'ToolProvider' && method === 'executeTool')
        tools.push({ name: String(name), arguments: jsonFields(given) })
    },
  })
  const last = runs.at(-1)
  return {
    tools,
    answer: last?.text ?? '',
    end: last?.isBeyond ? 'beyond' : (last?.status ?? 'failed'),
    error: last?.isBeyond ? null : (last?.error ?? null),
    difference: divergence ? describeDivergence(divergence).join('\n') : null,
  }
}
