import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { useLive } from '../live.ts'
import { RUN_FIELDS, type RunSummary } from '../types.ts'
import { mayMatch, readFilter } from './run-filter.ts'

const PAGE = 100
const QUERY = `query($filter: RunFilter, $after: String, $sort: String, $ascending: Boolean) {
  runs(filter: $filter, first: ${PAGE}, after: $after, sort: $sort, ascending: $ascending) { total cursor runs { ${RUN_FIELDS} } }
}`

interface Page {
  readonly runs: { readonly total: number; readonly cursor: string | null; readonly runs: readonly RunSummary[] }
}

interface Listed {
  readonly runs: readonly RunSummary[]
  readonly total: number
  readonly cursor: string | null
}

/** Reads the runs of one query of the address, page by page. New runs are counted and held back, so that rows never move. */
export function useRuns(query: Readonly<Record<string, string>>) {
  const filter = useMemo(() => readFilter(query), [])
  const [listed, setListed] = useState<Listed>()
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set())
  const [error, setError] = useState('')
  const isLoading = useRef(false)
  const load = async (after: string | null) => {
    if (isLoading.current) return
    isLoading.current = true
    try {
      const variables = { filter, after, sort: query.sort || null, ascending: query.order === 'asc' }
      const page = (await ask<Page>(QUERY, variables)).runs
      setListed((before) => (after === null ? page : { ...page, runs: [...(before?.runs ?? []), ...page.runs] }))
      if (after === null) setFresh(new Set())
      setError('')
    } catch (failure) {
      setError((failure as Error).message)
    } finally {
      isLoading.current = false
    }
  }
  useEffect(() => void load(null), [])
  useLive('runs', (changed) => {
    const known = new Set(listed?.runs.map(({ run_id }) => run_id))
    const byId = new Map(changed.filter(({ run_id }) => known.has(run_id)).map((run) => [run.run_id, run]))
    if (byId.size > 0) {
      setListed((before) => before && { ...before, runs: before.runs.map((run) => byId.get(run.run_id) ?? run) })
    }
    const unknown = changed.filter((run) => !known.has(run.run_id) && mayMatch(run, filter))
    // The first rows of an empty list disturb nobody.
    if (unknown.length > 0 && listed?.runs.length === 0) void load(null)
    else if (unknown.length > 0) setFresh((before) => new Set([...before, ...unknown.map(({ run_id }) => run_id)]))
  })
  return {
    listed,
    fresh,
    error,
    isFiltered: Object.keys(filter).length > 0,
    loadFirst: () => void load(null),
    loadMore: () => listed?.cursor && void load(listed.cursor),
  }
}
