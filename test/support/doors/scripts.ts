import fc from 'fast-check'
import { COMMANDS } from './conversation-model.ts'
import type { Step } from './player.ts'

/** Random operations: answers most of all. */
const step: fc.Arbitrary<Step> = fc.record({
  op: fc.oneof(
    { withCrossShrink: true },
    // Failing scripts shrink to it.
    { weight: 0, arbitrary: fc.constant('rest' as const) },
    { weight: 8, arbitrary: fc.constant('answer' as const) },
    { weight: 5, arbitrary: fc.constant('say' as const) },
    { weight: 2, arbitrary: fc.constantFrom('begin', 'wrong', 'again', 'cancel', 'hang') },
    { weight: 1, arbitrary: fc.constant('expire' as const) },
  ),
  door: fc.nat(9),
  command: fc.constantFrom(...COMMANDS),
  decision: fc.constantFrom('approve', 'edit', 'reject'),
  isWhole: fc.boolean(),
})

export const script = fc.array(step, { minLength: 10, maxLength: 10 })

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
