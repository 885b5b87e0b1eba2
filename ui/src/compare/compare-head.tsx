import { useEffect, useRef } from 'preact/hooks'
import type { Call, CallTree } from '../../../src/trace/calls/call-tree.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { Markdown } from '../components/markdown.tsx'
import { ReplayMark } from '../components/replay-mark.tsx'
import { Status } from '../components/status.tsx'
import { TableHead } from '../components/table-head.tsx'
import { formatCost, formatCount, formatTime } from '../format.ts'
import { markDifferences } from '../play/mark-differences.ts'
import { href } from '../router.ts'
import type { LoadedRun } from '../traces/run-query.ts'
import type { RunSummary } from '../types.ts'
import type { ComparedCalls } from './compare-runs.ts'

interface CompareHeadProps {
  readonly left: LoadedRun
  readonly right: LoadedRun
  readonly pairs: readonly ComparedCalls[]
}

/** Questions and answers of two runs, and their figures. */
export function CompareHead({ left, right, pairs }: CompareHeadProps) {
  const first = useRef<HTMLDivElement>(null)
  const second = useRef<HTMLDivElement>(null)
  const texts = [left, right].map(({ run }) => [run.input, run.output, run.error].join())
  useEffect(() => {
    if (first.current && second.current) return markDifferences([first.current, second.current])
  }, texts)
  return (
    <div class="compare-head">
      <RunCard run={left.run} name="First" place={first} />
      <RunCard run={right.run} name="Second" place={second} />
      <Figures left={left} right={right} pairs={pairs} />
    </div>
  )
}

interface RunCardProps {
  readonly run: RunSummary
  readonly name: string
  readonly place: { current: HTMLDivElement | null }
}

function RunCard({ run, name, place }: RunCardProps) {
  const { run_id: id, status, incomplete, error } = run
  return (
    <section class="compare-run" aria-label={`${name} run`}>
      <p class="facts dotted">
        <span class="muted">{name}</span>
        <a href={href(['runs', id])}>
          {run.agent_id} {formatTime(run.started_at)}
        </a>
        <Status status={status} incomplete={incomplete} />
        {run.variant && <span>variant: {run.variant}</span>}
        <ReplayMark run={run} />
      </p>
      <div class="compare-said" ref={place}>
        <p class="compare-question">{run.input || '–'}</p>
        {status === 'failed' ? <p class="bad-text">{error}</p> : <Markdown text={run.output || '–'} />}
      </div>
    </section>
  )
}

/** Calls that stand on the tape of the other run alone; undefined where neither is a rerun of the other. */
type Taped = ReadonlySet<Call> | undefined

interface Figure {
  readonly name: string
  readonly of: (loaded: LoadedRun, taped: Taped) => number | null
  readonly format: (value: number) => string
}

const FIGURES: readonly Figure[] = [
  // A tape answers at once: the time of a rerun is no other time.
  { name: 'Time', of: ({ run }) => run.duration_ms, format: formatDuration },
  { name: 'Tokens in', of: (loaded, taped) => tokensOf(loaded, taped, 'input_tokens'), format: formatCount },
  { name: 'Tokens out', of: (loaded, taped) => tokensOf(loaded, taped, 'output_tokens'), format: formatCount },
  { name: 'Cost', of: ({ run }, taped) => (taped ? null : run.cost), format: formatCost },
  { name: 'Model calls', of: ({ tree }, taped) => countOf(tree, 'generate', taped), format: formatCount },
  { name: 'Tool calls', of: ({ tree }, taped) => countOf(tree, 'executeTool', taped), format: formatCount },
]

function countOf({ calls }: CallTree, name: string, taped: Taped): number {
  return calls.filter((call) => call.method === name && !taped?.has(call)).length
}

/** Tokens of a run. Beside a rerun those of the models that ran: what was taken from the tape counts in neither. */
function tokensOf({ run, tree }: LoadedRun, taped: Taped, name: 'input_tokens' | 'output_tokens'): number {
  const sumOf = (calls: readonly Call[]): number =>
    calls.reduce((sum, call) => {
      if (taped?.has(call)) return sum
      return sum + (call.kind === 'model' && call.usage ? call.usage[name] : sumOf(call.children))
    }, 0)
  return taped ? sumOf(tree.roots) : run[name]
}

function Figures({ left, right, pairs }: CompareHeadProps) {
  const isRerun = left.run.replays === right.run.run_id || right.run.replays === left.run.run_id
  const tapedOf = (side: 'left' | 'right') =>
    isRerun ? new Set(pairs.flatMap((pair) => (pair.isTaped && pair[side]) || [])) : undefined
  const [spared, sparedToo] = [tapedOf('left'), tapedOf('right')]
  return (
    <table class="compare-figures">
      <TableHead names={['Figure', 'First', 'Second', 'Change']} figures={['First', 'Second', 'Change']} />
      <tbody>
        {FIGURES.map(({ name, of, format }) => {
          const [one, other] = [of(left, spared), of(right, sparedToo)]
          return (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="number">{one === null ? '–' : format(one)}</td>
              <td class="number">{other === null ? '–' : format(other)}</td>
              <td class="number">
                {isRerun && name === 'Time' ? 'from the tape' : describeChange(one, other, format)}
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

/** `+12 (+8 %)`; empty where nothing has changed, or one is not known. */
function describeChange(one: number | null, other: number | null, format: (value: number) => string): string {
  if (one === null || other === null || one === other) return ''
  const sign = other > one ? '+' : '−'
  const percent = one === 0 ? 0 : Math.round((Math.abs(other - one) / one) * 100)
  const share = percent === 0 ? '' : ` (${sign}${percent} %)`
  return `${sign}${format(Math.abs(other - one))}${share}`
}
