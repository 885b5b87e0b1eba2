import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import {
  AgentHost,
  type Message,
  memoryStorage,
  type PendingAnswer,
  type RunEvent,
  type RunOptions,
  type RunResult,
  type Turn,
} from 'agent-host'
import { ATTACH } from '../../src/host/host.ts'
import { toNextTurn, toResumableRun } from '../../src/host/waiting-run.ts'
import { silentLog } from '../../src/protocols/log.ts'
import { readTapeFile, type Tape } from '../../src/tape/file/read-tape.ts'
import { pathOfTape, TAPE_FOLDER } from '../../src/tape/file/tape-folder.ts'
import { TapeRecorder } from '../../src/tape/recording/tape-recorder.ts'
import { TapeWriter } from '../../src/tape/recording/tape-writer.ts'
import { type ReplayOptions, replayTape } from '../../src/tape/replaying/replay.ts'
import { eventually } from './eventually.ts'

/** A host whose runs are recorded in a project. */
export interface RecordingHost {
  readonly host: AgentHost
  readonly writer: TapeWriter
  /** Runs an agent, and returns its events and the id of the run. */
  run(agent: string, input: string | readonly Message[], options?: RunOptions): Promise<RecordedRun>
  /** Continues a run that waits. */
  resume(
    agent: string,
    waiting: RecordedRun,
    answers: readonly PendingAnswer[],
    options?: Pick<Turn, 'clientTools'>,
  ): Promise<RecordedRun>
  /** Reads the tape of a run. */
  tape(runId: string): Promise<Tape>
  close(): Promise<void>
}

/** A run that has ended, with its events. */
export interface RecordedRun {
  readonly runId: string
  readonly events: readonly RunEvent[]
  /** Undefined for one that failed. */
  readonly result: RunResult | undefined
}

export async function openRecordingHost(
  projectDir: string,
  { environment = {}, maxBytes = 256 * 1024 * 1024, share = 1, log = silentLog } = {},
): Promise<RecordingHost> {
  const writer = await TapeWriter.open({ projectDir, maxBytes, secrets: environment, log })
  const host = new AgentHost({ projectDir, environment, storage: memoryStorage() })
  host[ATTACH](new TapeRecorder({ writer, share, environment }))
  const start = async (agent: string, { onEvent, ...turn }: Turn, signal?: AbortSignal): Promise<RecordedRun> => {
    const events: RunEvent[] = []
    const listen = (event: RunEvent) => {
      events.push(event)
      return onEvent?.(event)
    }
    const handle = host.start(agent, { ...turn, onEvent: listen })
    signal?.addEventListener('abort', () => handle.abort())
    const result = await handle.result.catch(() => undefined)
    return { runId: handle.id, events, result }
  }
  return {
    host,
    writer,
    run(agent, input, { signal, ...turn } = {}) {
      const messages: readonly Message[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input
      return start(agent, { ...turn, messages }, signal)
    },
    async resume(agent, { events, result }, answers, options = {}) {
      if (!result) throw new Error('The run did not wait.')
      const next = await start(agent, toNextTurn(toResumableRun(agent, result, options), answers))
      return { ...next, events: [...events, ...next.events] }
    },
    async tape(runId) {
      await writer.finish()
      return readTapeFile(pathOfTape(projectDir, runId))
    },
    async close() {
      await host.close()
      await writer.close()
    },
  }
}

/** Waits for the tape of a run, and returns its lines. A file that is being written is there, and not whole. */
export const untilTaped = (projectDir: string, runId: string) =>
  eventually(() => gunzipSync(readFileSync(pathOfTape(projectDir, runId))).toString())

export const listTapes = (projectDir: string) => readdirSync(join(projectDir, TAPE_FOLDER)).sort()

/** Replays a tape, and returns what came of it with the events. */
export async function replay(tape: Tape, options: ReplayOptions) {
  const events: RunEvent[] = []
  const outcome = await replayTape(tape, { environment: {}, ...options, onEvent: (event) => void events.push(event) })
  return { ...outcome, events }
}
