/** `1.23 s`, `340 ms`, `2 min 5 s`; `–` for one that is not known: as commands, the log and the debug UI show it. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms == null) return '–'
  if (ms < 1) return ms === 0 ? '0 ms' : `${ms.toFixed(2)} ms`
  if (Math.round(ms) < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
