import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { useKept } from '../storage.ts'

const MIN_WIDTH = 280
const STEP = 40
/** Minimum width of the content beside the panel, in pixels. */
const MIN_REST = 320

interface SplitPaneProps {
  /** Under which its width is kept. */
  readonly name: string
  readonly children: ComponentChildren
  /** The panel at the side; below a wide window it is a sheet. */
  readonly side: ComponentChildren
}

/** A view with a panel beside it, whose width can be changed by mouse and by arrows. */
export function SplitPane({ name, children, side }: SplitPaneProps) {
  const frame = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useKept(`${name}.width`, Math.round(Math.min(620, window.innerWidth * 0.4)))
  const resize = (wanted: number) => {
    const room = (frame.current?.clientWidth ?? 1200) - MIN_REST
    setWidth(Math.round(Math.max(MIN_WIDTH, Math.min(wanted, room))))
  }
  const drag = (event: PointerEvent) => {
    const right = frame.current?.getBoundingClientRect().right
    if (event.buttons === 1 && right !== undefined) resize(right - event.clientX)
  }
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowLeft' ? STEP : event.key === 'ArrowRight' ? -STEP : 0
    if (step === 0) return
    event.preventDefault()
    resize(width + step)
  }
  return (
    <div class="split fill" ref={frame} data-open={Boolean(side)} style={{ '--side': `${width}px` }}>
      {children}
      {side && (
        <>
          <div
            class="split-handle"
            role="separator"
            aria-orientation="vertical"
            aria-label="Width of the panel"
            aria-valuenow={width}
            aria-valuemin={MIN_WIDTH}
            tabIndex={0}
            onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
            onPointerMove={drag}
            onKeyDown={move}
          />
          {side}
        </>
      )}
    </div>
  )
}
