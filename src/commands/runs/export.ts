import { basename, dirname } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { badProject, HostError } from '../../errors.ts'
import { writeAllOrNone } from '../../project/write-files.ts'
import { SERVER_OPTIONS } from '../../server/options/options.ts'
import { tapeFile } from '../../tape/file/tape-folder.ts'
import { openTape } from '../../tape/file/tape-pieces.ts'
import type { RunSummary } from '../../trace/run-columns.ts'
import { BaseCommand } from '../base-command.ts'
import { findTapedRun } from '../replay/find-tape.ts'
import { readLocation, storeFlags } from '../store/store-location.ts'
import { findRun } from './open-reader.ts'
import { type OpenRuns, openRuns } from './open-runs.ts'

const PAGE = 1000

/** A run as a file: its name unless another is chosen, and its content. */
interface ExportedRun {
  readonly name: string
  readonly content: Uint8Array | string
  readonly isTape: boolean
}

export default class RunsExport extends BaseCommand {
  static override description =
    'Writes a run to a file: its tape, or its trace if it was not recorded. Secrets are left out. With --store, it also fetches runs of other servers.'
  static override examples = ['agent-host runs export 4f1c', 'agent-host runs export 4f1c --output run.jsonl.gz']
  static override args = {
    run_id: Args.string({ description: 'Id of the run, or its first characters', required: true }),
  }
  static override flags = {
    output: Flags.string({
      description: 'File to write [default: <agent>-<run>.jsonl.gz for a tape, <agent>-<run>.jsonl for a trace]',
      helpValue: '<file>',
    }),
    ...storeFlags([SERVER_OPTIONS.store.flag]),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RunsExport)
    this.requireProject()
    const open = await openRuns(readLocation(flags))
    try {
      const { name, content, isTape } = await exportRun(open, args.run_id)
      const file = flags.output ?? name
      const path = this.pathOf(file)
      const suggestions = ['Choose another file with --output, or remove it.']
      await writeAllOrNone(dirname(path), [{ path: basename(path), content, mode: 0o600 }], () =>
        badProject(`${file} already exists.`, { suggestions }),
      )
      this.log(`Wrote ${isTape ? 'the tape' : 'the trace'} to ${file}`)
    } finally {
      await open.close()
    }
  }
}

async function exportRun(open: OpenRuns, word: string): Promise<ExportedRun> {
  const isTraced = open.reader.index.runs.like(word, 1).length > 0
  const taped = isTraced ? undefined : findTapedRun(word)
  if (taped !== undefined) {
    const content = await readOwnTape(taped)
    if (content) return { name: tapeFile(taped), content, isTape: true }
  }
  const run = findRun(open.reader, word)
  const tape = await readTape(open, run)
  const name = `${run.agent_id}-${tapeFile(run.run_id)}`
  if (tape) return { name, content: tape, isTape: true }
  return { name: name.replace(/\.gz$/, ''), content: await readTrace(open, run), isTape: false }
}

async function readOwnTape(runId: string): Promise<Uint8Array | undefined> {
  const file = await openTape(process.cwd(), runId)
  try {
    return await file?.readFile()
  } finally {
    await file?.close()
  }
}

/** Tape of a run, from this folder or the server that ran it; undefined where there is none. */
async function readTape(open: OpenRuns, run: RunSummary): Promise<Uint8Array | undefined> {
  const own = await readOwnTape(run.run_id)
  if (own) return own
  const pieces: Uint8Array[] = []
  for await (const piece of open.remoteTape(run)?.read() ?? []) pieces.push(piece)
  return pieces.length === 0 ? undefined : Buffer.concat(pieces)
}

/** @throws HostError `STORE_UNAVAILABLE` when the server that has the trace does not give it */
async function readTrace(open: OpenRuns, run: RunSummary): Promise<string> {
  const lines: string[] = []
  for (let after = -1; ; ) {
    const { events, hasMore, elsewhere } = await open.events(run, { runId: run.run_id, after, first: PAGE })
    if (elsewhere !== null) throw new HostError('STORE_UNAVAILABLE', elsewhere)
    lines.push(...events.map(({ line }) => line))
    after = events.at(-1)?.index ?? after
    if (!hasMore) return `${lines.join('\n')}\n`
  }
}
