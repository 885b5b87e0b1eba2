/**
 * Time as commands show it, and the debug UI too: `14:03:22`, with the day when it is not today.
 *
 * @param time Unix seconds
 */
export function formatTime(time: number): string {
  const date = new Date(time * 1000)
  const now = new Date()
  const year = date.getFullYear() === now.getFullYear() ? {} : ({ year: 'numeric' } as const)
  const day = date.toDateString() === now.toDateString() ? {} : ({ month: 'short', day: 'numeric', ...year } as const)
  return date.toLocaleString(undefined, { ...day, ...CLOCK })
}

const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const
