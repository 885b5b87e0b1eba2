// @ts-check

/**
 * Milliseconds of a clock that never jumps and is the same in all threads: `performance.now()` counts from the start of its thread.
 *
 * @returns {number}
 */
export function monotonicMs() {
  return Number(process.hrtime.bigint() / 1_000_000n)
}
