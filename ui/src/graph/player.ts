import { useEffect, useRef, useState } from 'preact/hooks'
import { useMedia } from '../media.ts'

export const SPEEDS = [0.1, 1, 10] as const
export type Speed = (typeof SPEEDS)[number]

/** A run that is in progress is shown a moment later: its events come in groups. */
const DELAY_MS = 400
/** Time between two steps where no motion is wanted. */
const STEP_MS = 600

interface Played {
  readonly isRunning: boolean
  /** Of an ended run. */
  readonly durationMs: number
  /** Of the latest event that is known. */
  readonly latestMs: number
  /** Returns the time of the next step after a moment; undefined after the last. */
  readonly nextStepMs: (atMs: number) => number | undefined
}

export interface Player {
  /** Moment that is shown, in milliseconds after the beginning of the run. */
  readonly atMs: number
  readonly speed: Speed
  readonly isPlaying: boolean
  /** False where the system asks for no motion: it goes on in steps. */
  readonly hasMotion: boolean
  readonly toggle: () => void
  readonly seek: (atMs: number) => void
  readonly setSpeed: (speed: Speed) => void
}

/** Plays a run: one in progress as it happens, an ended one again when asked. */
export function usePlayer(played: Played): Player {
  const { isRunning, durationMs, latestMs, nextStepMs } = played
  const hasMotion = !useMedia('(prefers-reduced-motion: reduce)')
  const [atMs, setAt] = useState(isRunning ? 0 : durationMs)
  const [speed, setSpeed] = useState<Speed>(1)
  const [isPlaying, setPlaying] = useState(isRunning)
  const lead = useRef(Number.NEGATIVE_INFINITY)
  const latest = useRef({ atMs, nextStepMs })
  latest.current = { atMs, nextStepMs }
  // The event that came soonest after it had happened tells how the clocks differ.
  if (isRunning) lead.current = Math.max(lead.current, latestMs - performance.now())
  useEffect(() => {
    if (isRunning) setPlaying(true)
  }, [isRunning])
  useEffect(() => {
    if (!isPlaying) return
    if (!hasMotion) return playSteps()
    return isRunning ? followNow() : playOn()
  }, [isPlaying, isRunning, hasMotion, speed, durationMs])

  function followNow() {
    return eachFrame(() => setAt((before) => Math.max(before, performance.now() + lead.current - DELAY_MS)))
  }
  function playOn() {
    let lastMs = performance.now()
    return eachFrame(() => {
      const now = performance.now()
      const next = latest.current.atMs + (now - lastMs) * speed
      lastMs = now
      setAt(Math.min(next, durationMs))
      if (next >= durationMs) setPlaying(false)
    })
  }
  function playSteps() {
    const timer = setInterval(
      () => {
        const next = latest.current.nextStepMs(latest.current.atMs)
        if (next !== undefined) setAt(next)
        else if (!isRunning) {
          setAt(durationMs)
          setPlaying(false)
        }
      },
      STEP_MS / Math.max(1, speed / 2),
    )
    return () => clearInterval(timer)
  }
  const toggle = () => {
    if (!isPlaying && !isRunning && atMs >= durationMs) setAt(0)
    setPlaying(!isPlaying)
  }
  const seek = (wanted: number) => {
    setPlaying(false)
    setAt(Math.max(0, Math.min(wanted, isRunning ? latestMs : durationMs)))
  }
  return { atMs, speed, isPlaying, hasMotion, toggle, seek, setSpeed }
}

/** Calls a function before every paint. @returns a function that ends it */
function eachFrame(act: () => void): () => void {
  let frame = requestAnimationFrame(function paint() {
    frame = requestAnimationFrame(paint)
    act()
  })
  return () => cancelAnimationFrame(frame)
}
