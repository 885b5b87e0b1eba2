import type { Call, CallTree } from '../../trace/call-tree.ts'
import type { RunSummary } from '../../trace/run-summary.ts'

/** `example` or `desk/billing`. */
export function nameTarget({ agent_id, entry_point }: RunSummary): string {
  return entry_point === '__entry__' || entry_point === '' ? agent_id : `${agent_id}/${entry_point}`
}

const ID_WIDTH = 13

/** Beginning of an id that tells runs apart: those of stored responses (UUIDs of version 7) begin with the time. */
function shortIdOf(runId: string): string {
  return runId.slice(0, runId[14] === '7' ? ID_WIDTH : 8)
}

/** Created at first use: it takes longer than most other things that a command does to start. */
let dateTime: Intl.DateTimeFormat | undefined

/** Columns of a line: id, time, agent, status, duration, number of calls, and question. */
type Columns = readonly [id: string, started: string, agent: string, status: string, time: string, calls: string]

const WIDTHS = [ID_WIDTH, 22, 16, 9, 9, 9]
const SERVER_WIDTH = 20
/** Numbers stand to the right. */
const RIGHT = [4, 5]

/** @param hasServer adds the server that ran it */
export function formatHeader(hasServer = false): string {
  const server = hasServer ? `  ${'SERVER'.padEnd(SERVER_WIDTH)}` : ''
  return `${pad(['RUN', 'STARTED', 'AGENT', 'STATUS', 'TIME', 'CALLS'])}${server}  INPUT OR ERROR`
}

/** One line, cut to the width of the terminal. */
export function formatRun(run: RunSummary, width: number, hasServer = false): string {
  dateTime ??= new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' })
  const started = dateTime.format(run.started_at * 1000)
  const id = shortIdOf(run.run_id)
  const columns = pad([id, started, nameTarget(run), run.status, formatMs(run.duration_ms), String(run.calls)])
  const server = hasServer ? `  ${run.server.padEnd(SERVER_WIDTH)}` : ''
  const line = `${columns}${server}  ${describeLink(run)}${oneLine(run.error ?? run.input)}`
  return line.length > width ? `${line.slice(0, width - 1)}…` : line
}

/** The other run of a conversation that waited in between. */
function describeLink({ continues, continued_by: next }: RunSummary): string {
  const links = [continues && `continues ${shortIdOf(continues)}`, next && `continued by ${shortIdOf(next)}`]
  const text = links.filter((link) => link).join(', ')
  return text && `(${text}) `
}

function pad(columns: Columns): string {
  const padded = columns.map((text, index) => {
    const width = WIDTHS[index] ?? 0
    return RIGHT.includes(index) ? text.padStart(width) : text.padEnd(width)
  })
  return padded.join('  ')
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
  const said = `${call.moduleId}.${call.method}${texts.arguments(calls)}${times}${texts.outcome(call)}`
  const groups = groupAlike(call.children)
  const children = groups.flatMap((group, index) => {
    const isLast = index === groups.length - 1
    return formatCalls(group, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`, texts)
  })
  return [`${lead}${mark}${said}  ${isRunning ? 'running' : formatMs(ms)}`, ...children]
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

export function formatMs(ms: number | null): string {
  if (ms === null) return '–'
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
  return `${(ms / 1000).toFixed(2)} s`
}

/**
 * Returns a text in one line, without characters that move the cursor of a terminal or colour it: the text of agents
 * may hold anything.
 */
export function oneLine(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/\p{Cc}/gu, '\ufffd')
    .trim()
}
