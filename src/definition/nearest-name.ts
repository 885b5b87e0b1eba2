/** The candidate that `name` was probably meant to be, if one is near enough to be worth suggesting. */
function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  const limit = Math.max(1, Math.floor(name.length / 3))
  let best: { candidate: string; distance: number } | undefined
  for (const candidate of candidates) {
    // A name in a request may be as long as its body: comparing it would hold the server for seconds.
    if (Math.abs(name.length - candidate.length) > limit) continue
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (distance <= limit && (!best || distance < best.distance)) best = { candidate, distance }
  }
  return best?.candidate
}

/** `Did you mean 'x'?` as a list of suggestions: empty when nothing is near. */
export function didYouMean(name: string, candidates: Iterable<string>): string[] {
  const nearest = nearestName(name, candidates)
  return nearest === undefined ? [] : [`Did you mean '${nearest}'?`]
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours each cost 1. */
function editDistance(a: string, b: string): number {
  let previous: number[] = []
  let current = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const beforePrevious = previous
    previous = current
    current = [row]
    for (let column = 1; column <= b.length; column++) {
      const substitution = at(previous, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1)
      let cost = Math.min(substitution, at(previous, column) + 1, at(current, column - 1) + 1)
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, at(beforePrevious, column - 2) + 1)
      }
      current.push(cost)
    }
  }
  return at(current, b.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity
}
