import { shorten } from '../../shorten.ts'
import type { Call, CallTree } from '../../trace/calls/call-tree.ts'
import type { RunSummary } from '../../trace/run-columns.ts'
import type { TraceReader } from '../../trace/trace-reader.ts'
import { formatDuration } from '../../wire/format-duration.ts'
import { formatTime } from '../terminal/format-time.ts'
import { oneLine } from '../terminal/one-line.ts'

/** `example` or `desk/billing`. */
export function nameTarget({ agent_id, entry_point }: RunSummary): string {
  return entry_point === '__entry__' || entry_point === '' ? agent_id : `${agent_id}/${entry_point}`
}

/** Ends of the parts of a UUID: short ids end with one. Those of stored responses (version 7) begin with the time. */
const PARTS = [8, 13, 18, 23]

/** Returns a function that shortens ids of runs to the first parts that no other run begins with. */
export function shortensIds({ index: { runs } }: TraceReader): (runId: string) => string {
  return (runId) => {
    const lengths = runId[14] === '7' ? PARTS.slice(1) : PARTS
    const length = lengths.find((each) => runs.like(runId.slice(0, each), 2).length < 2)
    return runId.slice(0, length)
  }
}

interface TableOptions {
  readonly shortId: (runId: string) => string
  /** Of the terminal: longer lines are cut. */
  readonly width: number
  /** Adds the server that ran it. */
  readonly hasServer: boolean
}

/** Cells of a line by their columns. */
type Row = Readonly<Record<Column, string>>

const COLUMNS = ['run', 'started', 'agent', 'user', 'status', 'time', 'calls', 'server', 'input', 'error'] as const
type Column = (typeof COLUMNS)[number]
const TITLES = Object.fromEntries(COLUMNS.map((column) => [column, column.toUpperCase()])) as Row
const MAX_INPUT = 40
const MAX_USER = 20
/** Numbers stand to the right. */
const RIGHT: readonly Column[] = ['time', 'calls']
/** Widths of a table whose lines come one by one. */
const EXPECTED: Readonly<Record<Column, number>> = {
  run: 13,
  started: 8,
  agent: 16,
  user: 12,
  status: 20,
  time: 8,
  calls: 5,
  server: 20,
  input: MAX_INPUT,
  error: 1,
}

/** The table of runs: one line a run, with its question, and the error of the run or of a tool. Columns are as wide as they have to be. */
export function formatRuns(runs: readonly RunSummary[], options: TableOptions): string[] {
  const depths = new Map<string, number>()
  const rows = runs.map((run) => {
    const depth = (depths.get(run.parent_run_id ?? '') ?? -1) + 1
    depths.set(run.run_id, depth)
    return toRow(run, options, depth)
  })
  const used = COLUMNS.filter((column) => rows.some((row) => row[column] !== ''))
  const table = [TITLES, ...rows]
  const widths = new Map(used.map((column) => [column, Math.max(...table.map((row) => row[column].length))]))
  return table.map((row) => formatRow(row, widths, options))
}

/** Title and lines of a table of which not all runs are known. */
export function followRuns(options: Omit<TableOptions, 'hasServer'>): { title: string; line(run: RunSummary): string } {
  const widths = new Map(
    COLUMNS.filter((column) => column !== 'server' && column !== 'user').map((column) => [column, EXPECTED[column]]),
  )
  return {
    title: formatRow(TITLES, widths, options),
    line: (run) => formatRow(toRow(run, { ...options, hasServer: false }), widths, options),
  }
}

/** @param depth number of the runs above it that began it */
function toRow(run: RunSummary, { shortId, hasServer }: Omit<TableOptions, 'width'>, depth = 0): Row {
  const { run_id, user, started_at, status, incomplete, duration_ms, calls, server, error } = run
  return {
    run: shortId(run_id),
    started: formatTime(started_at),
    agent: depth > 0 ? `${'  '.repeat(depth - 1)}└ ${nameTarget(run)}` : nameTarget(run),
    user: shorten(oneLine(user ?? ''), MAX_USER),
    status: incomplete === null ? nameStatus(status) : `incomplete: ${oneLine(incomplete)}`,
    time: formatDuration(duration_ms),
    calls: String(calls),
    server: hasServer ? server : '',
    input: shorten(describeLink(run, depth > 0, shortId) + oneLine(run.input), MAX_INPUT),
    error: oneLine(error ?? ''),
  }
}

function formatRow(row: Row, widths: ReadonlyMap<Column, number>, { width }: Pick<TableOptions, 'width'>): string {
  const cells = [...widths].map(([column, columnWidth]) =>
    RIGHT.includes(column) ? row[column].padStart(columnWidth) : row[column].padEnd(columnWidth),
  )
  return shorten(cells.join('  ').trimEnd(), width)
}

/** A status as people read it. */
export function nameStatus(status: RunSummary['status']): string {
  return STATUS_NAMES[status] ?? status
}

const STATUS_NAMES: Readonly<Partial<Record<RunSummary['status'], string>>> = {
  waiting: 'waiting for a person',
  handed_to_client: 'handed to the client',
}

/** The values of a variant, the run that called this one, unless it stands below that, and the other runs of a conversation that waited in between. */
function describeLink(
  {
    continues,
    continued_by: next,
    replays,
    replays_from: from,
    parent_run_id: parent,
    variant,
    eval_case: evalCase,
  }: RunSummary,
  isBelow: boolean,
  shortId: TableOptions['shortId'],
): string {
  const links = [
    evalCase && `case ${oneLine(evalCase)}`,
    variant && `variant: ${oneLine(variant)}`,
    replays && `replay of ${shortId(replays)} from call ${from}`,
    parent && !isBelow && `called by ${shortId(parent)}`,
    continues && `continues ${shortId(continues)}`,
    next && `continued by ${shortId(next)}`,
  ]
  const text = links.filter((link) => link).join(', ')
  return text && `(${text}) `
}

/** Texts of a call: its arguments and its result. */
export interface CallTexts {
  /** Of one call, or of several alike that follow each other. */
  arguments(calls: readonly Call[]): string
  outcome(call: Call): string
}

/** The calls of a run, each below who made it. Calls of one method that follow each other are one line. */
export function formatTree(tree: CallTree, texts: CallTexts): string[] {
  return tree.roots.flatMap((root) => formatCalls([root], '', '', texts))
}

function formatCalls(calls: readonly Call[], lead: string, below: string, texts: CallTexts): string[] {
  const [call] = calls
  if (!call) return []
  const isRunning = calls.some(({ status }) => status === 'running')
  const ms = calls.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0)
  const mark = call.status === 'failed' ? '✗ ' : ''
  const times = calls.length > 1 ? ` ×${calls.length}` : ''
  const said = `${call.to}.${call.method}${texts.arguments(calls)}${times}${texts.outcome(call)}`
  const groups = groupAlike(call.children)
  const children = groups.flatMap((group, index) => {
    const isLast = index === groups.length - 1
    return formatCalls(group, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`, texts)
  })
  return [`${lead}${mark}${said}  ${isRunning ? 'running' : formatDuration(ms)}`, ...children]
}

/** Pieces of an answer come in hundreds of calls that differ in nothing but their text. */
function groupAlike(calls: readonly Call[]): Call[][] {
  const groups: Call[][] = []
  for (const call of calls) {
    const last = groups.at(-1)
    if (
      last?.[0] &&
      isPiece(call) &&
      isPiece(last[0]) &&
      last[0].moduleId === call.moduleId &&
      last[0].method === call.method
    )
      last.push(call)
    else groups.push([call])
  }
  return groups
}

function isPiece({ kind, children, status }: Call): boolean {
  return kind === 'response' && children.length === 0 && status !== 'failed'
}
