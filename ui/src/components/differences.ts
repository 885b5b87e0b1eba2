/** Parts beyond which texts are not compared. */
const MAX_PARTS = 2000

/** Tells of each word or line of two texts whether the other text lacks it at its place: by their longest common subsequence. */
export function findDifferences(one: readonly string[], other: readonly string[]): [boolean[], boolean[]] {
  const marks: [boolean[], boolean[]] = [one.map(() => false), other.map(() => false)]
  if (one.length > MAX_PARTS || other.length > MAX_PARTS) return marks
  const width = other.length + 1
  const lengths = new Uint16Array((one.length + 1) * width)
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0
  for (let row = one.length - 1; row >= 0; row--) {
    for (let column = other.length - 1; column >= 0; column--) {
      const isSame = one[row] === other[column]
      lengths[row * width + column] = isSame
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  for (let row = 0, column = 0; row < one.length || column < other.length; ) {
    if (row < one.length && column < other.length && one[row] === other[column]) {
      row++
      column++
    } else if (column >= other.length || (row < one.length && at(row + 1, column) >= at(row, column + 1))) {
      marks[0][row++] = true
    } else marks[1][column++] = true
  }
  return marks
}
