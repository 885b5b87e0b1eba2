import { useEffect, useState } from 'preact/hooks'

/** Returns a hint with the key for it, where there are keys. */
export function useKeyHint(hint: string, key: string): string {
  return useMedia('(hover: none), (max-width: 760px)') ? hint : `${hint} ( ${key} )`
}

/** Tells whether a media query holds, as the window changes. */
export function useMedia(query: string): boolean {
  const [isMatching, setMatching] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const list = matchMedia(query)
    const follow = () => setMatching(list.matches)
    follow()
    list.addEventListener('change', follow)
    return () => list.removeEventListener('change', follow)
  }, [query])
  return isMatching
}
