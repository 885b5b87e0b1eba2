import type { Call } from '../../../src/trace/calls/call-tree.ts'

/** Deeper calls share the last row. */
const ROWS = 5
/** Share of the line within which two bars are not told apart. */
const NEAR = 0.002

/** Bar of a time line: one call, or several that follow each other closely. */
export interface TimeBar {
  /** Of the first call. */
  readonly id: string
  /** Kind and status of its calls, as classes. */
  readonly look: string
  readonly row: number
  /** Shares of the line, from 0 to 1. */
  readonly left: number
  readonly right: number
}

/** Places calls on a time line, in rows by their depth. However many there are, their bars are no more than can be seen. */
export function timeBars(calls: readonly Call[], startedAt: number, totalMs: number): readonly TimeBar[] {
  const shareOf = (ms: number) => Math.max(0, Math.min(1, ms / Math.max(totalMs, 0.01)))
  const bars: { -readonly [Name in keyof TimeBar]: TimeBar[Name] }[] = []
  const latest = new Map<string, (typeof bars)[number]>()
  for (const { id, kind, status, depth, startedAt: at, durationMs = totalMs } of calls) {
    const startMs = (at - startedAt) * 1000
    const [left, right] = [shareOf(startMs), shareOf(startMs + durationMs)]
    const [look, row] = [`kind-${kind} ${status}`, Math.min(depth, ROWS - 1)]
    const before = latest.get(look + row)
    if (before && left - before.right < NEAR) {
      before.right = Math.max(before.right, right)
      continue
    }
    const bar = { id, look, row, left, right }
    bars.push(bar)
    latest.set(look + row, bar)
  }
  return bars
}
