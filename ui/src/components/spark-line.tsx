const WIDTH = 88
const HEIGHT = 22
/** Room for the stroke above and below. */
const INSET = 2
/** Fewer are not drawn. */
const MIN_VALUES = 6

interface SparkLineProps {
  /** Equally spaced, oldest first. */
  readonly values: readonly number[]
  readonly label: string
}

/** Course of a number, without axes. */
export function SparkLine({ values: all, label }: SparkLineProps) {
  if (!hasCourse(all)) return null
  const values = sinceFirst(all)
  const max = Math.max(...values, 1)
  const step = WIDTH / Math.max(1, values.length - 1)
  const y = (value: number) => HEIGHT - INSET - (value / max) * (HEIGHT - 2 * INSET)
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${y(value).toFixed(1)}`).join(' ')
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <title>{label}</title>
      <polyline points={points} />
    </svg>
  )
}

/** True for enough values to be drawn: a few points are no course. */
export function hasCourse(values: readonly number[]): boolean {
  return sinceFirst(values).length >= MIN_VALUES
}

/** Values from the first one on, with the nought before it. */
function sinceFirst(values: readonly number[]): readonly number[] {
  return values.slice(Math.max(0, values.findIndex((value) => value > 0) - 1))
}
