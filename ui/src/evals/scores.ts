/** `0.98`; a dash for what nothing judges. */
export function formatScore(score: number | null): string {
  return score === null ? '–' : score.toFixed(2)
}

/** `+0.12`, `−0.50`. */
export function formatChange(difference: number): string {
  return `${difference < 0 ? '−' : '+'}${Math.abs(difference).toFixed(2)}`
}
