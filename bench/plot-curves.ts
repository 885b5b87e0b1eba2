/** One line of a plot: a figure for each x. */
export interface Series {
  readonly label: string
  readonly values: readonly number[]
}

/** How a cost grows with a number. */
export interface Curve {
  /** Of the file of the plot. */
  readonly name: string
  readonly title: string
  readonly xLabel: string
  /** Ascending. */
  readonly xs: readonly number[]
  readonly unit: string
  readonly series: readonly Series[]
}

interface Theme {
  readonly back: string
  readonly text: string
  readonly grid: string
  readonly lines: readonly [string, string]
}

/** Themes of the documentation. */
export const THEMES: Readonly<Record<'light' | 'dark', Theme>> = {
  light: { back: '#ffffff', text: '#3c3c43', grid: '#e2e2e3', lines: ['#2563eb', '#b45309'] },
  dark: { back: '#1b1b1f', text: '#dfdfd6', grid: '#3c3f44', lines: ['#60a5fa', '#fbbf24'] },
}
const [WIDTH, HEIGHT] = [720, 340]
const AREA = { left: 64, right: 696, top: 64, bottom: 284 }

/** Draws a curve with two logarithmic axes: what does not grow is level, and what grows in proportion rises by a decade a decade. */
export function plotCurve(curve: Curve, theme: Theme): string {
  const { xs, series, title, unit, xLabel } = curve
  const x = scale(xs.map(Math.log10), AREA.left + 30, AREA.right - 30)
  const values = series.flatMap((line) => line.values)
  const [low, high] = [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)) + 0.05)]
  const y = scale([low, high], AREA.bottom, AREA.top)
  const rows = Array.from({ length: high - low + 1 }, (_, index) => low + index).map(
    (decade) =>
      `<path d="M${AREA.left} ${y(decade)}H${AREA.right}" stroke="${theme.grid}"/>
<text x="${AREA.left - 8}" y="${y(decade) + 4}" text-anchor="end">${shorten(10 ** decade)}</text>`,
  )
  const columns = xs.map(
    (value) =>
      `<text x="${x(Math.log10(value))}" y="${AREA.bottom + 20}" text-anchor="middle">${shorten(value)}</text>`,
  )
  const legend = series.map(
    ({ label }, index) =>
      `<circle cx="${AREA.left + 6 + index * 300}" cy="44" r="4" fill="${theme.lines[index]}"/>
<text x="${AREA.left + 16 + index * 300}" y="48">${label}</text>`,
  )
  const lines = series.map(({ values }, index) => {
    const points = values.map((value, place) => [x(Math.log10(xs[place] ?? 1)), y(Math.log10(value))] as const)
    // The higher line has its figures above it, the other below.
    const dy = isHigher(series, index) ? -10 : 20
    return `<polyline points="${points.map((point) => point.join()).join(' ')}" fill="none" stroke="${theme.lines[index]}" stroke-width="2"/>
${points.map(([cx, cy], place) => `<circle cx="${cx}" cy="${cy}" r="3.5" fill="${theme.lines[index]}"/><text x="${cx}" y="${cy + dy}" text-anchor="middle">${shorten(values[place] ?? 0)}</text>`).join('\n')}`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
<style>text{font:13px system-ui,sans-serif;fill:${theme.text}}.title{font-weight:600;font-size:15px}</style>
<rect width="${WIDTH}" height="${HEIGHT}" fill="${theme.back}"/>
<text class="title" x="${AREA.left}" y="24">${title}, ${unit}</text>
${[...rows, ...columns, ...legend, ...lines].join('\n')}
<text x="${(AREA.left + AREA.right) / 2}" y="${HEIGHT - 12}" text-anchor="middle">${xLabel}</text>
</svg>
`
}

function scale(values: readonly number[], from: number, to: number): (value: number) => number {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return (value) => Math.round(from + ((value - low) / (high - low)) * (to - from))
}

function isHigher(series: readonly Series[], index: number): boolean {
  const last = series[index]?.values.at(-1) ?? 0
  return series.every(({ values }) => (values.at(-1) ?? 0) <= last)
}

function shorten(value: number): string {
  if (value >= 1_000_000) return `${value / 1_000_000} M`
  if (value >= 10_000) return `${Math.round(value / 1000)} k`
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(2)))
}
