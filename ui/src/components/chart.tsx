import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { formatTick, formatTime } from '../format.ts'
import { TableHead } from './table-head.tsx'

export interface Series {
  readonly name: string
  readonly values: readonly (number | null)[]
  /** Of the page's colours. */
  readonly color: 'accent' | 'bad' | 'warn' | 'good'
}

interface ChartProps {
  readonly title: string
  /** Unix seconds. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly isBars?: boolean
  /** Counts have no fractions. */
  readonly isWhole?: boolean
  readonly format: (value: number) => string
  /** A point was chosen, by its number. */
  readonly onPoint: (index: number) => void
}

const HEIGHT = 190
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400]
/** Distances between the marks of the axis of time, in seconds. */
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365].map((count) => count * DAY),
]
/** Distances between the marks of an axis of counts. */
const WHOLE_STEPS = [1, 2, 5]
  .flatMap((step) => [0, 1, 2, 3, 4, 5, 6, 7, 8].map((zeros) => step * 10 ** zeros))
  .sort((a, b) => a - b)

/** Values over time. A table shows the same, for readers who cannot see the plot or have no mouse. */
export function Chart({ title, times, series, isBars = false, isWhole = false, format, onPoint }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const latest = useRef({ onPoint, format })
  latest.current = { onPoint, format }
  const [hovered, setHovered] = useState<number | null>(null)
  const [theme, setTheme] = useState(0)
  useEffect(() => onThemeChange(() => setTheme((count) => count + 1)), [])
  useEffect(() => {
    const { current } = place
    if (!current) return
    const created = new uPlot(
      optionsFor(current, { series, isBars, isWhole, latest, setHovered }),
      dataOf(times, series),
      current,
    )
    plot.current = created
    const observer = new ResizeObserver(() => created.setSize({ width: current.clientWidth, height: HEIGHT }))
    observer.observe(current)
    return () => {
      observer.disconnect()
      created.destroy()
    }
  }, [theme, series.length])
  useEffect(() => plot.current?.setData(dataOf(times, series)), [times, series])
  const shown = hovered === null ? undefined : times[hovered]
  return (
    <section class="panel chart">
      <div class="panel-head">
        <h2>{title}</h2>
        <span class="legend">
          {series.map(({ name, color, values }) => (
            <span key={name}>
              <span class={`swatch ${color}`} aria-hidden="true" />
              {name}
              {hovered !== null && <b> {formatValue(values[hovered], format)}</b>}
            </span>
          ))}
          {shown !== undefined && <span class="muted">{formatTime(shown)}</span>}
        </span>
      </div>
      <div ref={place} class="plot" aria-hidden="true" />
      <ChartTable title={title} times={times} series={series} format={format} />
    </section>
  )
}

/** Numbers of a chart, for readers who cannot see the plot or have no mouse. Only a box can be narrower than its table. */
function ChartTable({ title, times, series, format }: Pick<ChartProps, 'title' | 'times' | 'series' | 'format'>) {
  return (
    <div class="hidden">
      <table>
        <caption>{title}</caption>
        <TableHead names={['Time', ...series.map(({ name }) => name)]} />
        <tbody>
          {times.map((time, index) =>
            series.some(({ values }) => values[index]) ? (
              <tr key={time}>
                <th scope="row">{formatTime(time)}</th>
                {series.map(({ name, values }) => (
                  <td key={name}>{formatValue(values[index], format)}</td>
                ))}
              </tr>
            ) : null,
          )}
        </tbody>
      </table>
    </div>
  )
}

function formatValue(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value)
}

function dataOf(times: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  return [[...times], ...series.map(({ values }) => [...values])]
}

/** Returns the shortest time between two values, in seconds. */
function stepOf(times: ArrayLike<number>): number {
  const steps = Array.from(times).map((time, index) => time - (times[index - 1] ?? Number.NEGATIVE_INFINITY))
  const shortest = Math.min(...steps)
  return Number.isFinite(shortest) ? shortest : MINUTE
}

interface Setup {
  readonly series: readonly Series[]
  readonly isBars: boolean
  readonly isWhole: boolean
  readonly latest: { readonly current: { onPoint: (index: number) => void; format: (value: number) => string } }
  readonly setHovered: (index: number | null) => void
}

function optionsFor(place: HTMLElement, { series, isBars, isWhole, latest, setHovered }: Setup): uPlot.Options {
  const style = getComputedStyle(place)
  const color = (name: string) => style.getPropertyValue(`--chart-${name}`).trim()
  const axis = {
    stroke: color('text'),
    grid: { stroke: color('line'), width: 1 },
    ticks: { show: false },
    gap: 8,
    font: '12px system-ui, sans-serif',
  }
  const paths = isBars ? uPlot.paths.bars?.({ size: [0.7, 24], radius: 0.2 }) : undefined
  return {
    width: place.clientWidth || 400,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 7 } },
    padding: [8, 24, 0, 0],
    scales: {
      // Whole bars at both ends, and the same axis for lines beside them.
      x: { range: ({ data: [times] }, min, max) => [min - stepOf(times) / 2, max + stepOf(times) / 2] },
      y: { range: (_plot, _min, max) => [0, (isWhole ? Math.max(max, 1) : max || 1) * 1.1] },
    },
    axes: [
      {
        ...axis,
        size: 24,
        incrs: ({ data: [times] }) =>
          TIME_STEPS.filter((step, index) => step >= stepOf(times) || index === TIME_STEPS.length - 1),
        values: (_plot, splits, _axis, _space, step) => splits.map((time) => formatTick(time, step)),
      },
      {
        ...axis,
        size: 62,
        ...(isWhole ? { incrs: WHOLE_STEPS } : {}),
        values: (_plot, splits) => splits.map((value) => latest.current.format(value).replace(/\.0+(?= )/, '')),
      },
    ],
    series: [
      {},
      ...series.map(
        ({ name, color: line }): uPlot.Series => ({
          label: name,
          stroke: color(line),
          width: 2,
          spanGaps: false,
          ...(isBars ? { fill: color(line), width: 0 } : {}),
          ...(paths ? { paths } : {}),
          points: { show: !isBars, size: 5, fill: color(line) },
        }),
      ),
    ],
    hooks: {
      setCursor: [({ cursor }) => setHovered(cursor.idx ?? null)],
      ready: [
        (plot) => {
          plot.over.addEventListener('click', () => {
            const { idx } = plot.cursor
            if (idx !== null && idx !== undefined) latest.current.onPoint(idx)
          })
        },
      ],
    },
  }
}

/** The colours of a canvas do not change by themselves. */
function onThemeChange(act: () => void): () => void {
  const media = matchMedia('(prefers-color-scheme: dark)')
  const observer = new MutationObserver(act)
  media.addEventListener('change', act)
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  return () => {
    media.removeEventListener('change', act)
    observer.disconnect()
  }
}
