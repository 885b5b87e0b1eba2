import { formatDuration } from '../../../src/wire/format-duration.ts'
import { formatCost, formatCount, formatPercent } from '../format.ts'
import type { Numbers } from '../types.ts'
import { Figure } from './figure.tsx'
import { SparkLine } from './spark-line.tsx'

interface DayFiguresProps {
  readonly numbers: Numbers
  /** Runs by hour, oldest first. */
  readonly counts: readonly number[]
}

/** Figures of an agent's last 24 hours. */
export function DayFigures({ numbers, counts }: DayFiguresProps) {
  return (
    <div class="day-figures">
      <dl class="figures">
        <Figure name="Runs" value={formatCount(numbers.count)} />
        <Figure name="Failed" value={formatPercent(numbers.errors / numbers.count)} isBad={numbers.errors > 0} />
        <Figure name="p95" value={formatDuration(numbers.p95_ms)} />
        {numbers.cost !== null && <Figure name="Cost" value={formatCost(numbers.cost)} />}
      </dl>
      <SparkLine values={counts} label="Runs by hour, last 24 hours" />
    </div>
  )
}
