import { formatCost, formatCount, formatDuration } from '../format.ts'
import { go, href } from '../router.ts'
import type { Numbers } from '../types.ts'
import { Chart, type Series } from './chart.tsx'
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
export function MetricsCharts({ metrics: { points, total, bucket_seconds: bucket }, selection }: MetricsChartsProps) {
  const { agent, module } = selection
  const open = (index: number) => {
    const time = points[index]?.time
    if (time !== undefined) go(href(['runs'], { agent, module, since: String(time), until: String(time + bucket) }))
  }
  const times = points.map(({ time }) => time)
  const drawings = [...drawingsOf(module ? 'Calls' : 'Runs'), ...(total.cost === null ? [] : [COST])]
  return (
    <div class="charts">
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

const COST: Drawing = {
  title: 'Cost',
  isBars: true,
  format: formatCost,
  lines: [['US dollars', ({ cost }) => cost, 'accent']],
}

function drawingsOf(what: string): Drawing[] {
  return [
    {
      title: `${what} and errors`,
      isBars: true,
      isWhole: true,
      format: formatCount,
      lines: [
        [what, ({ count }) => count, 'accent'],
        ['Errors', ({ errors }) => errors, 'bad'],
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
      title: 'Time to first text (median)',
      format: formatDuration,
      lines: [['First text', ({ first_text_p50_ms }) => first_text_p50_ms, 'accent']],
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
