import { useLayoutEffect, useState } from 'preact/hooks'

/**
 * Location in the page: everything that can be linked to. It stands behind `#`, so that no server has to know of it.
 */
export interface Route {
  /** `/runs/<id>` as `['runs', '<id>']`. */
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

function readRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?')
  const segments = path.split('/').filter((segment) => segment !== '')
  return { path: segments.map(decode), query: Object.fromEntries(new URLSearchParams(search)) }
}

/** The address of a place. Values that are empty are left out. */
export function href(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const search = new URLSearchParams(given).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${search ? `?${search}` : ''}`
}

/** Goes to a place at once: the event that the browser sends for a changed hash would come after the next click. */
export function go(address: string, { replace = false } = {}): void {
  if (replace || address === location.hash) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  dispatchEvent(new HashChangeEvent('hashchange'))
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => readRoute(location.hash))
  useLayoutEffect(() => {
    const follow = () => setRoute(readRoute(location.hash))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return route
}

/** An address somebody mistyped is shown as it is. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
