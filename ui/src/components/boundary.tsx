import type { ComponentChildren } from 'preact'
import { useErrorBoundary, useRef } from 'preact/hooks'

interface BoundaryProps {
  /** Value that the children show: they are tried again once it is another. */
  readonly of: unknown
  /** Shown where they fail. */
  readonly instead: (error: Error) => ComponentChildren
  readonly children: ComponentChildren
}

const NONE = Symbol('none')

/** Keeps an error of its children from emptying the rest of the page. */
export function Boundary({ of, instead, children }: BoundaryProps) {
  const failed = useRef<unknown>(NONE)
  const [error] = useErrorBoundary(() => {
    failed.current = of
  })
  if (failed.current !== of) failed.current = NONE
  return <>{error !== undefined && failed.current === of ? instead(error) : children}</>
}
