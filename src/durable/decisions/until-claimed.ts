import { HostError } from '../../errors.ts'

/** Thrown where another was quicker: with the same request, in the same conversation, or with what a run waits for. */
export class RequestRepeated extends Error {}

/** Number of attempts at a change that others may prevent by being quicker. */
const MAX_ATTEMPTS = 10

/**
 * Tries again while others are quicker: each attempt reads what it changes once more.
 *
 * @param attempt returns undefined, or throws {@link RequestRepeated}, when another was quicker
 * @param what changes meanwhile, as the beginning of the message
 * @throws HostError `RESPONSE_CONFLICT`
 */
export async function untilClaimed<T>(
  attempt: () => Promise<T | undefined>,
  what = 'The conversation changes',
): Promise<T> {
  for (let count = 0; count < MAX_ATTEMPTS; count++) {
    try {
      const done = await attempt()
      if (done !== undefined) return done
    } catch (error) {
      if (!(error instanceof RequestRepeated)) throw error
    }
  }
  throw new HostError('RESPONSE_CONFLICT', `${what} all the time`)
}
