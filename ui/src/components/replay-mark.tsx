import { href } from '../router.ts'
import type { RunSummary } from '../types.ts'

/** Link of a rerun to the run that it replays. */
export function ReplayMark({ run: { replays, replays_from: from } }: { run: RunSummary }) {
  if (replays === null) return null
  return (
    <span>
      <a class="badge" href={href(['runs', replays])} title="What comes before this call is taken from the tape">
        replay from call {from}
      </a>
    </span>
  )
}
