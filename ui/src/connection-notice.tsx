import { useEffect, useState } from 'preact/hooks'
import { useIsLive } from './live.ts'

/** A restarted server is back before. */
const PATIENCE_MS = 2000

/** Message over every screen while the server is away; it covers the page's end and moves nothing. */
export function ConnectionNotice() {
  const isLive = useIsLive()
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    if (isLive) return setLost(false)
    const timer = setTimeout(() => setLost(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [isLive])
  return (
    <div class="toast-place" role="status">
      {isLost && (
        <p class="toast">
          <b>No connection to the server.</b> Is agent-host still running? This page reconnects by itself.
        </p>
      )}
    </div>
  )
}
