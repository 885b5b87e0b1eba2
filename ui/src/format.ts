// A 24-hour clock everywhere, and days written so that no reader takes the month for the day.
const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const dayOfYear = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', year: 'numeric' })

/** `14:03:22`, with the day when it is not today. @param time Unix seconds */
export function formatTime(time: number): string {
  const date = new Date(time * 1000)
  const now = new Date()
  if (date.toDateString() === now.toDateString()) return clock.format(date)
  const isThisYear = date.getFullYear() === now.getFullYear()
  return `${(isThisYear ? day : dayOfYear).format(date)}, ${clock.format(date)}`
}

const DAY = 86_400
const clockMinutes = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

/** Label of a time axis: `14:03`, `14:03:15` for steps below a minute, the day at midnight. @param time Unix seconds */
export function formatTick(time: number, stepSeconds: number): string {
  const date = new Date(time * 1000)
  const isMidnight = date.getHours() + date.getMinutes() + date.getSeconds() === 0
  if (stepSeconds >= DAY || isMidnight) return day.format(date)
  return (stepSeconds < 60 ? clock : clockMinutes).format(date)
}

/** Tells whether two times are on one day of this clock. @param one Unix seconds */
export function isSameDay(one: number, other: number): boolean {
  return new Date(one * 1000).toDateString() === new Date(other * 1000).toDateString()
}

/** `14:03:22`. @param time Unix seconds */
export function formatClock(time: number): string {
  return clock.format(new Date(time * 1000))
}

/** `Nov 22`. @param time Unix seconds */
export function formatDay(time: number): string {
  return day.format(new Date(time * 1000))
}

/** `now`, `5 min ago`. @param time Unix seconds */
export function formatAgo(time: number, now = Date.now() / 1000): string {
  const seconds = Math.max(0, now - time)
  if (seconds < 10) return 'just now'
  if (seconds < 60) return `${Math.floor(seconds)} s ago`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  return `${Math.floor(seconds / 86_400)} d ago`
}

const whole = new Intl.NumberFormat()

export function formatCount(count: number): string {
  return whole.format(count)
}

const plurals = new Intl.PluralRules('en')

/** `3 runs`, `1 run`. */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${plurals.select(count) === 'one' ? '' : 's'}`
}

export function formatPercent(share: number): string {
  if (share === 0) return '0 %'
  return share < 0.01 ? `${(share * 100).toFixed(1)} %` : `${Math.round(share * 100)} %`
}

/** `$0.0041`; empty when it is not known. @param cost US dollars */
export function formatCost(cost: number | null | undefined): string {
  if (cost === null || cost === undefined) return ''
  if (cost === 0) return '$0'
  if (cost < 0.0001) return '< $0.0001'
  return `$${cost < 1 ? cost.toPrecision(2) : cost.toFixed(2)}`
}

/** `1,204 → 318`; empty when nothing was counted. */
export function formatTokens({ input_tokens, output_tokens }: { input_tokens: number; output_tokens: number }): string {
  return input_tokens + output_tokens === 0 ? '' : `${formatCount(input_tokens)} → ${formatCount(output_tokens)}`
}

/** Beginning of the version of an agent. */
export function shortVersion(version: string): string {
  return version.slice(0, 7) || 'unknown'
}

/** Name of a participant of a run. */
export function participantName(id: string): string {
  if (id.startsWith('agent:')) return 'caller'
  return id.replace(/(^|\/)__(response|conversation)__$/, '$1$2')
}

/** Beginning of a Markdown text as one plain line. */
export function excerpt(markdown: string): string {
  return markdown
    .replace(/```\w*|\|[\s|:-]*-{3}[\s|:-]*|[*`#|]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}
