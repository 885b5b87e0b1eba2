import { useEffect } from 'preact/hooks'

const REFRESH_MS = 5000

/** Asks again every five seconds: the server tells of no change. */
export function useRefresh(reload: () => void): void {
  useEffect(() => {
    const timer = setInterval(reload, REFRESH_MS)
    return () => clearInterval(timer)
  }, [reload])
}
