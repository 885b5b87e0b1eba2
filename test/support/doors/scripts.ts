import fc from 'fast-check'
import { COMMANDS } from './conversation-model.ts'
import { changesDoor, type Played, type Step } from './player.ts'

/** Random operations: answers most of all. */
const steps = (...others: fc.WeightedArbitrary<Step['op']>[]): fc.Arbitrary<Step> =>
  fc.record({
    op: fc.oneof(
      { withCrossShrink: true },
      // Failing scripts shrink to it.
      { weight: 0, arbitrary: fc.constant('rest' as const) },
      { weight: 8, arbitrary: fc.constant('answer' as const) },
      { weight: 5, arbitrary: fc.constant('say' as const) },
      { weight: 2, arbitrary: fc.constantFrom('begin', 'wrong', 'again', 'cancel', 'hang') },
      { weight: 1, arbitrary: fc.constant('expire' as const) },
      ...others,
    ),
    door: fc.nat(9),
    command: fc.constantFrom(...COMMANDS),
    decision: fc.constantFrom('approve', 'edit', 'reject'),
    isWhole: fc.boolean(),
  })

const script = (step: fc.Arbitrary<Step>) => fc.array(step, { minLength: 10, maxLength: 10 })

const withoutKills = script(steps())
/** A server is killed in one operation of 200. */
const withKills = fc.oneof(
  { weight: 19, arbitrary: withoutKills },
  { weight: 1, arbitrary: script(steps({ weight: 2, arbitrary: fc.constant('kill') })) },
)

/** Scripts that are played at the same time: each waits for the store most of its time. */
const LANES = 8

export interface ScriptOptions {
  readonly count: number
  readonly isKilling?: boolean
}

/**
 * Plays random scripts; one that fails is shrunk, with its seed in the error.
 *
 * @returns how many of them came to one conversation through more than one door
 */
export async function playScripts(
  play: (steps: readonly Step[]) => Promise<Played>,
  { count, isKilling }: ScriptOptions,
): Promise<number> {
  const played: Played[] = []
  const lane = async () => {
    const property = fc.asyncProperty(
      isKilling ? withKills : withoutKills,
      async (steps) => void played.push(await play(steps)),
    )
    // What was found is said in the message: reports of other processes have no causes.
    await fc.assert(property, { numRuns: count / LANES, includeErrorInReport: true })
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return played.filter(changesDoor).length
}

const REST: Step = { op: 'rest', door: 0, command: 'say', decision: 'approve', isWhole: true }

/** Doors by their indexes: those of {@link makeDoors}. */
export const DOOR = {
  plain: 0,
  streamed: 1,
  background: 2,
  socket: 3,
  chat: 4,
  runs: 6,
  mcp: 7,
  project: 8,
  inbox: 9,
} as const
type DoorName = keyof typeof DOOR

/** Step of a script that is kept: it names what it needs. */
export function at(door: DoorName, op: Step['op'], more: Partial<Step> = {}): Step {
  return { ...REST, op, door: DOOR[door], ...more }
}
