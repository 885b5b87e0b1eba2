import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { authorization, noteRefusal } from './token.ts'

/** Addresses are relative to the page, so that it works under any path prefix. */
const ENDPOINT = 'api/ui/graphql'

/** @throws Error with the server's message, or for an unreachable server */
export async function ask<T>(query: string, variables: object = {}, signal?: AbortSignal): Promise<T> {
  const response = await fetch(ENDPOINT, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization() },
    body: JSON.stringify({ query, variables }),
    signal: signal ?? null,
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new Error('The server cannot be reached. Is agent-host still running?')
  })
  const body = (await response.json()) as { data?: T; errors?: { message: string }[]; detail?: string }
  noteRefusal(response, body.detail)
  const problem = body.errors?.[0]?.message ?? body.detail
  if (problem !== undefined || !body.data) throw new Error(problem ?? `The server answered ${response.status}.`)
  return body.data
}

export interface Asked<T> {
  /** The latest answer; it stays while a newer one is loading. */
  readonly data: T | undefined
  readonly error: string | undefined
  readonly reload: () => void
}

/** Asks, and asks again when the variables change. */
export function useQuery<T>(query: string, variables: object = {}): Asked<T> {
  const [state, setState] = useState<{ data?: T; error?: string }>({})
  const key = query + JSON.stringify(variables)
  const latest = useRef({ query, variables })
  latest.current = { query, variables }
  const current = useRef<AbortController | undefined>(undefined)
  const reload = useCallback(() => {
    current.current?.abort()
    const controller = new AbortController()
    current.current = controller
    ask<T>(latest.current.query, latest.current.variables, controller.signal).then(
      (data) => setState({ data }),
      (error: Error) => {
        if (!controller.signal.aborted) setState((before) => ({ ...before, error: error.message }))
      },
    )
  }, [key])
  useEffect(() => {
    reload()
    return () => current.current?.abort()
  }, [reload])
  return { data: state.data, error: state.error, reload }
}
