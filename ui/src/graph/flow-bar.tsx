import { useMemo } from 'preact/hooks'
import type { Call } from '../../../src/trace/calls/call-tree.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { IconButton } from '../components/icon-button.tsx'
import { type Player, SPEEDS, type Speed } from './player.ts'
import { timeBars } from './time-bars.ts'

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
  const bars = useMemo(() => timeBars(calls, startedAt, totalMs), [calls, startedAt, totalMs])
  return (
    <div class="flow-bars" aria-hidden="true">
      {bars.map(({ id, look, row, left, right }) => (
        <span
          key={id}
          class={`flow-call ${look}`}
          style={{ left: `${left * 100}%`, width: `${(right - left) * 100}%`, top: `${row * 6}px` }}
        />
      ))}
    </div>
  )
}

function nameOf(speed: Speed): string {
  return speed === 0.1 ? '⅒×' : `${speed}×`
}
