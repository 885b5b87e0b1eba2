/** Begins to count the turns of the event loop. @returns the number so far; further ones are not counted */
export function countTurns(): () => number {
  let turns = 0
  const count = () => {
    turns++
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  return () => {
    clearImmediate(next)
    return turns
  }
}
