import { formatDuration } from '../../../src/wire/format-duration.ts'
import { Chart, type Series } from '../components/chart.tsx'
import { formatCost, formatCount } from '../format.ts'
import { go, href } from '../router.ts'
import type { Numbers } from '../types.ts'
import type { Metrics, MetricsSelection } from './metrics-query.ts'

type Line = readonly [name: string, read: (numbers: Numbers) => number | null, color: Series['color']]

interface Drawing {
  readonly title: string
  readonly isBars?: boolean
  readonly isWhole?: boolean
  readonly format: (value: number) => string
  readonly lines: readonly Line[]
}

interface MetricsChartsProps {
  readonly metrics: Metrics
  readonly selection: MetricsSelection
}

/** Charts of the metrics; a point opens its runs. */
export function MetricsCharts({ metrics, selection }: MetricsChartsProps) {
  const { total, bucket_seconds: bucket } = metrics
  const points = withoutEmptyBeginning(metrics.points)
  const { agent, module } = selection
  const open = (index: number) => {
    const time = points[index]?.time
    if (time !== undefined) go(href(['runs'], { agent, module, since: String(time), until: String(time + bucket) }))
  }
  const times = points.map(({ time }) => time)
  const drawings = [...drawingsOf(module ? 'Calls' : 'Runs'), ...(total.cost === null ? [] : [COST])]
  return (
    <div class="charts" data-count={drawings.length}>
      {drawings.map(({ title, isBars = false, isWhole = false, format, lines }) => (
        <Chart
          key={title}
          title={title}
          times={times}
          isBars={isBars}
          isWhole={isWhole}
          format={format}
          onPoint={open}
          series={lines.map(([name, read, color]) => ({
            name,
            color,
            values: points.map(({ numbers }) => read(numbers)),
          }))}
        />
      ))}
    </div>
  )
}

/** Points before the first run that are left, so that the beginning is seen. */
const EMPTY_BEFORE = 2
const MIN_POINTS = 12

/** Points from shortly before the first run on: the time before would take the room of the data. */
function withoutEmptyBeginning(points: Metrics['points']): Metrics['points'] {
  const first = points.findIndex(({ numbers }) => numbers.count > 0)
  return points.slice(Math.max(0, Math.min(first - EMPTY_BEFORE, points.length - MIN_POINTS)))
}

const COST: Drawing = {
  title: 'Cost',
  isBars: true,
  format: formatCost,
  lines: [['US dollars', ({ cost }) => cost, 'accent']],
}

function drawingsOf(what: string): Drawing[] {
  return [
    {
      title: what === 'Runs' ? 'Runs and failed runs' : `${what} and errors`,
      isBars: true,
      isWhole: true,
      format: formatCount,
      lines: [
        [what, ({ count }) => count, 'accent'],
        [what === 'Runs' ? 'Failed' : 'Errors', ({ errors }) => errors, 'bad'],
      ],
    },
    {
      title: 'Duration',
      format: formatDuration,
      lines: [
        ['p50', ({ p50_ms }) => p50_ms, 'accent'],
        ['p95', ({ p95_ms }) => p95_ms, 'warn'],
      ],
    },
    {
      title: 'Time to first token (median)',
      format: formatDuration,
      lines: [['First token', ({ first_text_p50_ms }) => first_text_p50_ms, 'accent']],
    },
    {
      title: 'Tokens',
      isBars: true,
      isWhole: true,
      format: formatCount,
      lines: [
        ['In', ({ input_tokens }) => input_tokens, 'accent'],
        ['Out', ({ output_tokens }) => output_tokens, 'warn'],
      ],
    },
  ]
}
