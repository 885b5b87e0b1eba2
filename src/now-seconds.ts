/** Returns the time in Unix seconds, without fractions. */
export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}
