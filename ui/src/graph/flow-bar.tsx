import type { Call } from '../../../src/trace/calls/call-tree.ts'
import { IconButton } from '../components/icon-button.tsx'
import { formatDuration } from '../format.ts'
import { type Player, SPEEDS, type Speed } from './player.ts'

/** Calls that the time line shows. */
const MAX_BARS = 300
const ROWS = 5

interface FlowBarProps {
  readonly player: Player
  readonly calls: readonly Call[]
  /** Unix seconds. */
  readonly startedAt: number
  readonly totalMs: number
  readonly isRunning: boolean
}

/** Controls of a run that is played, over the time line of its calls. */
export function FlowBar({ player, calls, startedAt, totalMs, isRunning }: FlowBarProps) {
  const { atMs, isPlaying, speed, toggle, seek, setSpeed } = player
  const label = isPlaying ? 'Pause' : isRunning ? 'Follow' : 'Play'
  return (
    <div class="flow-bar">
      <IconButton icon={isPlaying ? 'pause' : 'go'} label={label} onClick={toggle} />
      <span class="figure-text flow-time">
        {formatDuration(Math.min(atMs, totalMs))} <span class="muted">/ {formatDuration(totalMs)}</span>
      </span>
      <div class="flow-line">
        <TimeLine calls={calls} startedAt={startedAt} totalMs={totalMs} />
        <span class="flow-head" style={{ left: `${Math.min(100, (atMs / Math.max(totalMs, 0.01)) * 100)}%` }} />
        <input
          type="range"
          min={0}
          max={totalMs}
          step={Math.max(totalMs / 500, 0.01)}
          value={Math.min(atMs, totalMs)}
          aria-label="Moment of the run"
          aria-valuetext={formatDuration(atMs)}
          onInput={({ currentTarget }) => seek(Number(currentTarget.value))}
        />
      </div>
      {isRunning ? (
        <span class="badge good">live</span>
      ) : (
        <fieldset class="segmented">
          <legend class="hidden">Speed</legend>
          {SPEEDS.map((each) => (
            <button key={each} type="button" aria-pressed={each === speed} onClick={() => setSpeed(each)}>
              {nameOf(each)}
            </button>
          ))}
        </fieldset>
      )}
    </div>
  )
}

/** The calls as bars over time, in rows by their depth. */
function TimeLine({ calls, startedAt, totalMs }: Pick<FlowBarProps, 'calls' | 'startedAt' | 'totalMs'>) {
  const shareOf = (ms: number) => Math.max(0, Math.min(1, ms / Math.max(totalMs, 0.01)))
  return (
    <div class="flow-bars" aria-hidden="true">
      {calls.slice(0, MAX_BARS).map((call) => {
        const left = shareOf((call.startedAt - startedAt) * 1000)
        const width = Math.min(1 - left, shareOf(call.durationMs ?? totalMs))
        return (
          <span
            key={call.id}
            class={`flow-call kind-${call.kind} ${call.status}`}
            style={{ left: `${left * 100}%`, width: `${width * 100}%`, top: `${Math.min(call.depth, ROWS - 1) * 6}px` }}
          />
        )
      })}
    </div>
  )
}

function nameOf(speed: Speed): string {
  return speed === 0.1 ? '⅒×' : `${speed}×`
}
