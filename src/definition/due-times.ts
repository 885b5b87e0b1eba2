import type { Schedule } from './definition.ts'

/** Rule by which the due times of a schedule follow each other. */
export type DueRule = Pick<Schedule, 'cron' | 'every' | 'timezone'>

/**
 * Returns the first due time after a moment, both in Unix milliseconds; undefined where none follows. Around a change of the clocks a
 * time that is skipped is due when the clocks have moved, and one that comes twice is due the first time.
 *
 * @throws Error for a rule that is none
 */
export type FindDue = (rule: DueRule, afterMs: number) => number | undefined

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Loads what finds due times: only where an agent has a schedule. */
export async function loadFindDue(): Promise<FindDue> {
  const { Cron } = await import('croner')
  return ({ cron, every, timezone = 'UTC' }, afterMs) => {
    if (every !== undefined) return nextInterval(every, afterMs)
    // It would be read as one moment: once that is past, servers would refuse the agent.
    if (cron?.includes(':')) throw new Error("it holds a ':'")
    const job = new Cron(cron ?? '', { mode: '5-part', timezone })
    return job.nextRun(new Date(afterMs))?.getTime()
  }
}

/** Counted from the epoch, so that all servers agree. */
function nextInterval(every: string, afterMs: number): number {
  const intervalMs = Number(every.slice(0, -1)) * (UNIT_MS[every.slice(-1)] ?? Number.NaN)
  return (Math.floor(afterMs / intervalMs) + 1) * intervalMs
}
