import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** Rows beyond the visible ones, so that scrolling shows no gap. */
const OVERSCAN = 12

/**
 * The part of a scrolled element that can be seen, in pixels.
 *
 * @param element from a state, `ref={setElement}`: a list may appear long after its parent, and a ref does not rerender
 */
export function useViewport(element: HTMLElement | null): { top: number; height: number; width: number } {
  const [viewport, setViewport] = useState({ top: 0, height: 600, width: 0 })
  useEffect(() => {
    if (!element) return
    let frame = 0
    const measure = () => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => {
        const { scrollTop: top, clientHeight: height, clientWidth: width } = element
        setViewport({ top, height, width })
      })
    }
    measure()
    element.addEventListener('scroll', measure, { passive: true })
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => {
      cancelAnimationFrame(frame)
      element.removeEventListener('scroll', measure)
      observer.disconnect()
    }
  }, [element])
  return viewport
}

interface RowsProps {
  readonly count: number
  readonly rowHeight: number
  readonly viewport: { readonly top: number; readonly height: number }
  readonly children: (index: number) => ComponentChildren
}

/** Only the rows that can be seen are there. */
export function Rows({ count, rowHeight, viewport, children }: RowsProps) {
  const first = Math.max(0, Math.floor(viewport.top / rowHeight) - OVERSCAN)
  const last = Math.min(count, Math.ceil((viewport.top + viewport.height) / rowHeight) + OVERSCAN)
  const indexes = Array.from({ length: Math.max(0, last - first) }, (_, offset) => first + offset)
  return (
    <div class="rows" role="presentation" style={{ height: `${count * rowHeight}px` }}>
      {indexes.map((index) => (
        <div
          key={index}
          class="row-place"
          role="presentation"
          style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
        >
          {children(index)}
        </div>
      ))}
    </div>
  )
}
