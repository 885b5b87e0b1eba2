import { useEffect, useState } from 'preact/hooks'

const NAME = 'agent-host.token'
/** `#token=...`, as `agent-host dev` prints it: browsers send to no server what stands behind `#`. */
const IN_ADDRESS = /^#token=(.+)$/

let refusal: string | undefined
const watchers = new Set<(refusal: string | undefined) => void>()

/** Takes the token from the address, which then no longer shows it. */
export function takeToken(): void {
  const [, token] = IN_ADDRESS.exec(location.hash) ?? []
  if (token === undefined) return
  history.replaceState(null, '', location.pathname + location.search)
  saveToken(decodeURIComponent(token))
}

/** Token of the debug UI, or key with the scope `debug`; it lasts as long as the window. */
export function readToken(): string {
  return sessionStorage.getItem(NAME) ?? ''
}

/** Keeps a token, and tries again with it. */
export function saveToken(token: string): void {
  sessionStorage.setItem(NAME, token)
  publish(undefined)
}

/** Headers by which the server knows the viewer. */
export function authorization(): Record<string, string> {
  const token = readToken()
  return token === '' ? {} : { authorization: `Bearer ${token}` }
}

/** Has the page ask for a token where the server wants one, or another one. @returns whether it does */
export function noteRefusal({ status }: Response, detail: string | undefined): boolean {
  const isRefused = status === 401 || (status === 403 && readToken() !== '')
  if (isRefused) publish(readToken() === '' ? '' : (detail ?? 'The token is wrong'))
  return isRefused
}

/** Returns what is wrong with the token: empty while there is none, undefined when nothing is. */
export function useRefusal(): string | undefined {
  const [state, setState] = useState(refusal)
  useEffect(() => {
    setState(refusal)
    watchers.add(setState)
    return () => watchers.delete(setState)
  }, [])
  return state
}

function publish(next: string | undefined): void {
  refusal = next
  for (const watcher of watchers) watcher(next)
}
