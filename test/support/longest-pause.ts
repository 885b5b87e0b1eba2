/** Longest time that the event loop stood still while something was done, in milliseconds. */
export async function longestPause(work: () => Promise<unknown>): Promise<number> {
  let lastMs = performance.now()
  let longestMs = 0
  const look = () => {
    longestMs = Math.max(longestMs, performance.now() - lastMs)
    lastMs = performance.now()
  }
  const clock = setInterval(look, 5)
  await work()
  look()
  clearInterval(clock)
  return longestMs
}
