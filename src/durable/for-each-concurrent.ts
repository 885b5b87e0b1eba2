/** Items that are worked on at once. */
const CONCURRENCY = 20

/** Works on all items, several at once. The first error ends it. */
export async function forEachConcurrent<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const lane = async () => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, lane))
}
