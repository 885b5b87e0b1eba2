import { setTimeout } from 'node:timers/promises'

/** Tries an assertion again until it holds; after `timeoutMs` its last failure stands. */
export async function eventually<T>(attempt: () => T | Promise<T>, timeoutMs = 10_000): Promise<T> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await setTimeout(10)
    }
  }
}
