import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** Ticks of `/proc` in a second, on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

/** Returns the CPU time of a process and its children so far, in microseconds; 0 where there is no `/proc`. */
export function cpuMicrosOf(pid: number): number {
  let ticks = 0
  for (const line of readStats()) {
    // The name of the command, in parentheses, may hold anything.
    const [id = ''] = line.split(' ')
    const [, parent, ...fields] = line
      .slice(line.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    if (Number(id) !== pid && parent !== pid) continue
    // Of the process, and of children that have ended: fields 14 to 17 of proc(5).
    const own = fields.slice(9, Number(id) === pid ? 13 : 11)
    ticks += own.reduce((sum, each) => sum + each, 0)
  }
  return (ticks * 1e6) / TICKS_PER_SECOND
}

function readStats(): string[] {
  if (!existsSync('/proc')) return []
  return readdirSync('/proc').flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? [readFileSync(`/proc/${name}/stat`, 'utf8')] : []
    } catch {
      // It has ended.
      return []
    }
  })
}
