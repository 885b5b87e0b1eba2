import { type AgentHost, ATTACH } from '../host/host.ts'
import type { Log } from '../protocols/log.ts'
import type { RecordStore } from '../store/record-store.ts'
import { TapeRecorder } from '../tape/recording/tape-recorder.ts'
import { TapeWriter } from '../tape/recording/tape-writer.ts'
import { TapeSweeper } from '../tape/tape-sweeper.ts'
import type { ProjectOptions } from './project-options.ts'

type TapeOptions = Pick<ProjectOptions, 'projectDir' | 'record' | 'debugMaxMb'>

/** Tapes of a project that records runs. */
export class Tapes {
  readonly #options: TapeOptions
  readonly #writer: TapeWriter
  readonly #log: Log

  private constructor(options: TapeOptions, writer: TapeWriter, log: Log) {
    this.#options = options
    this.#writer = writer
    this.#log = log
  }

  static async open(
    options: TapeOptions,
    secrets: Readonly<Record<string, string | undefined>>,
    log: Log,
  ): Promise<Tapes> {
    const { projectDir, debugMaxMb } = options
    const writer = await TapeWriter.open({ projectDir, maxBytes: debugMaxMb * 1024 * 1024, secrets, log })
    return new Tapes(options, writer, log)
  }

  /** Records runs of a host from now on. @returns the sweeper of the tapes */
  record(host: AgentHost, openRecords: () => Promise<RecordStore>): TapeSweeper {
    const { projectDir, record: share } = this.#options
    const writer = this.#writer
    const sweeper = new TapeSweeper({ projectDir, writer, openRecords, log: this.#log })
    const { env: environment } = process
    host[ATTACH](new TapeRecorder({ writer, share, environment, onRun: (...run) => sweeper.noteRun(...run) }))
    return sweeper
  }

  /** Deletes the tapes of these runs, those that are being written included. Other runs that have ended are in their files then. */
  delete(runIds: readonly string[]): Promise<void> {
    return this.#writer.delete(runIds)
  }

  close(): Promise<void> {
    return this.#writer.close()
  }
}
